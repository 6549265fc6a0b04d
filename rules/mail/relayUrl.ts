// What the URL of a relay says of TLS.

/** @param url `smtp://` or `smtps://`. TLS is required unless the host is loopback; `?tls=off` and `?tls=required` change that */
export function tlsOfRelay(url: URL) {
  const implicit = url.protocol === 'smtps:'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const loopback = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host)
  const asked = url.searchParams.get('tls')
  const required = asked === 'required' || (asked !== 'off' && !loopback)
  /** Whether a password would cross a network as it is. */
  const showsPassword = url.username !== '' && !implicit && !required && !loopback
  return { host, implicit, required, showsPassword }
}
