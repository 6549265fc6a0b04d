// Which parts of an answer are shown once only, and never kept.

/** Fields of an answer that its caller alone may have: an API key, the key with which webhooks are signed. */
const SECRETS = ['token', 'signing_secret'] as const

/** An answer with null in place of its secrets. @param body JSON, or '' */
export function withoutSecrets(body: string): string {
  if (!SECRETS.some((name) => body.includes(`"${name}"`))) return body
  const answer: unknown = JSON.parse(body)
  if (typeof answer !== 'object' || answer === null) return body
  const shown = SECRETS.filter((name) => name in answer)
  if (shown.length === 0) return body
  return JSON.stringify({ ...answer, ...Object.fromEntries(shown.map((name) => [name, null])) })
}
