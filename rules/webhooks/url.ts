// Which URLs webhooks may have.

const PORTS = ['', '443', '8443']

/**
 * Whether it is https on port 443 or 8443; with `allowPrivate` http or https on any port. Whether its host is a public address is
 * known at each connection alone.
 */
export function isWebhookUrl(text: string, { allowPrivate }: { allowPrivate: boolean }): boolean {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') return false
  return allowPrivate || (url.protocol === 'https:' && PORTS.includes(url.port))
}
