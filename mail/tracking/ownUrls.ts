// Which links of a mail are our own: those by which somebody unsubscribes. Nobody is tracked or tagged through them.

interface OwnUrls {
  publicUrl: string
  /** Of the mail's domain; null: it has none. */
  trackingHost: string | null
  /** Of the mail; null: it has none. A link that carries it elsewhere leads whoever follows it in a copy to the contact's page. */
  leaveToken?: string | null
}

/** Makes the function that says so of a link. */
export function ownUrlRule({ publicUrl, trackingHost, leaveToken = null }: OwnUrls) {
  const bases = trackingHost === null ? [publicUrl] : [publicUrl, `https://${trackingHost}`]
  return (url: string): boolean =>
    bases.some((base) => url.startsWith(`${base}/u/`)) ||
    (leaveToken !== null && url.includes(leaveToken))
}
