// Ports to which a request that a customer chooses may go: a request made to look like a mail or a command of another protocol must not
// reach a server that speaks it. The ports from 1024 on are those that browsers block, too (Fetch, section "Port blocking").
const otherProtocols = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669,
  6679, 6697, 10080,
])

/** @param url http or https */
export function isHttpPort({ port }: URL): boolean {
  if (port === '') return true
  const number = Number(port)
  return number === 80 || number === 443 || (number >= 1_024 && !otherProtocols.has(number))
}
