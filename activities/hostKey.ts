// Names a host that a node asks where its name must not stand: it may be one that nobody else is to know of, such as that of a tunnel.
import { hash } from 'node:crypto'

/** The digest of the host of a URL, with its port; the same for the same host. Histories of Temporal hold it. */
export const hostKeyOf = (url: string): string =>
  hash('sha256', new URL(url).host, 'base64url').slice(0, 16)
