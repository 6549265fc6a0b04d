// Recognises automatic replies (RFC 3834), such as vacation notices, receipts and ticket systems.

type Header = (name: string) => string | undefined

/** A row matches if the header exists and its value matches. */
const marks: readonly { name: string; value: RegExp }[] = [
  // Auto-Submitted: auto-replied (vacation)
  { name: 'auto-submitted', value: /^\s*auto-(?:replied|generated|notified)/i },
  // Precedence: auto_reply
  { name: 'precedence', value: /^\s*(?:auto[_-]?reply|bulk|junk|list)\b/i },
  // X-Auto-Response-Suppress: All
  { name: 'x-auto-response-suppress', value: /\S/ },
  { name: 'x-autoreply', value: /\S/ },
  { name: 'x-autorespond', value: /\S/ },
  { name: 'x-autoresponder', value: /\S/ },
  // Subject: Automatic reply: your order
  {
    name: 'subject',
    value:
      /^\s*(?:auto(?:matic|mated)?[ -]?(?:reply|response)|out of (?:the )?office|on vacation|abwesenheit|réponse automatique|respuesta automática)/i,
  },
]

/** Whether a message is an automatic reply, by its headers. */
export const isAutoReply = (header: Header): boolean =>
  marks.some(({ name, value }) => value.test(header(name) ?? ''))
