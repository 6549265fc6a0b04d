// Counts the headers `Host` of a request. Node's parser takes several, and shows the first of them alone.

/**
 * Whether a request names more than one host, the same name twice too (RFC 9112, section 3.2): a proxy before us may have
 * chosen by another of them than we read.
 * @param rawHeaders names and values in turn, as they came
 */
export function hasSeveralHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts > 1
}
