// Headers of a request: which it may not set, and which have a structure instead of free text.

const reserved = new RegExp(
  `^(${[
    // the envelope of the message, and what describes its content
    'from|to|cc|bcc|subject|date|message-id|reply-to|sender|mime-.*|content-.*',
    // what other mail servers and ours say about its way and who answers for it
    'received|received-spf|return-path|authentication-results|arc-.*|dkim-signature|domainkey-signature',
    'resent-.*|feedback-id',
  ].join('|')})$`,
  'i',
)

/** True for headers that mail servers and the service write. A second one could make receivers trust the wrong value. */
export const isReservedHeader = (name: string): boolean => reserved.test(name)

const structured = /^(in-reply-to|references|list-unsubscribe|list-unsubscribe-post)$/i

/** True for headers whose value is message ids or addresses of the web, where encoded words mean nothing. */
export const isStructuredHeader = (name: string): boolean => structured.test(name)

/** True for text with the mark that begins an encoded word (RFC 2047), which a reader might decode. */
export const holdsWordMark = (text: string): boolean => text.includes('=?')

/**
 * Fields that hold recipients, the sender for the author, or whom readers and programs answer (RFC 5322 sections 3.6.2, 3.6.3 and 3.6.6, RFC 8098
 * section 2.1, and some without a standard). Postgres gets its source too, so it has only what both read alike.
 */
export const ADDRESS_FIELDS = new RegExp(
  `^(${[
    '(resent-)?(to|cc|bcc|reply-to|sender)|mail-reply-to|mail-followup-to',
    'disposition-notification-to|return-receipt-to|errors-to',
    'apparently-to|delivered-to|x-original-to|envelope-to|x-envelope-to',
  ].join('|')})$`,
  'i',
)

/** What To says when it names nobody: a group without members (RFC 5322 section 3.4). */
export const UNDISCLOSED_RECIPIENTS = 'undisclosed-recipients:;'
