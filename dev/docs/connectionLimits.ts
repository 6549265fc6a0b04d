// The table of the limits on connections and bodies, from the numbers that the server and the reader of bodies keep to.
import { type BodyRules, bodyRules, countedBytes } from '../../api/http/bodies/rules.ts'
import { serverRules } from '../../api/http/server.ts'
import { MEBIBYTE } from '../../rules/limits.ts'
import { code, codes, markdownTable } from './markdown.ts'

const count = (value: number) => value.toLocaleString('en-US')
const mebibytes = (bytes: number) => `${count(bytes / MEBIBYTE)} MiB`
const kibibytes = (bytes: number) => `${count(bytes / 1024)} KiB`
const kilobytes = (bytes: number) => `${count(bytes / 1000)} KB`
const seconds = (ms: number) => `${count(ms / 1000)} s`

/** How long a connection may be silent, how many there may be, and how much memory bodies have. */
export function connectionLimitsTable(): string {
  return markdownTable(
    ['limit', 'value', 'who is over it gets', 'metric or log line'],
    [...connectionRows(), ...bodyRows(bodyRules)],
  )
}

function connectionRows(): string[][] {
  const dropped = (limit: string) =>
    code(`dripline_api_connections_dropped_total{limit="${limit}"}`)
  return [
    [
      'time for the headers of a request, from its first byte or from the connect',
      seconds(serverRules.headers_ms),
      '408 without a body, and the connection is closed',
      '',
    ],
    [
      'time between two requests of a connection',
      `${seconds(serverRules.keepAlive_ms)}; clients are told ${serverRules.keepAliveTold_s}, so let your proxy keep its own for less than that`,
      'a closed connection',
      '',
    ],
    [
      'connections that wait to be accepted',
      `${count(serverRules.connectionsMax)}, or \`net.core.somaxconn\` of the system where that is less`,
      'no answer yet; its system tries again after a second or more',
      '',
    ],
    [
      'connections of a process',
      `${count(serverRules.connectionsMax)}; from nine tenths on those between two requests are closed`,
      'a closed connection',
      `${dropped('process')}, "connections were closed because there were too many" once a minute`,
    ],
    [
      'connections of one client (an IPv4 address, or a whole /64 of IPv6) that is not in `TRUSTED_PROXIES`',
      count(serverRules.connectionsPerClientMax),
      'a closed connection',
      `the same with ${code('limit="address"')}`,
    ],
  ]
}

function bodyRows(rules: BodyRules): string[][] {
  const factor = countedBytes(1)
  const small = kibibytes(rules.smallBytesMax / factor)
  const free = kibibytes(rules.freeBytesMax)
  const slow = code('dripline_api_refused_total{reason="body_too_slow"}')
  const tooSlow = '408 `body_too_slow`'
  return [
    [
      'memory for bodies, of a process',
      `${mebibytes(rules.processBytesMax)}, of which ${mebibytes(rules.reserveBytes)} are kept for bodies up to ${small}. A body over ${free} counts with its size, its first MiB ${factor} times. One in chunks counts with ${mebibytes(rules.smallBytesMax)} until over ${small} of it have come, and then as the largest that the operation takes`,
      `waits, in turns by workspace; after ${seconds(rules.wait_ms)} 503`,
      `${codes(['dripline_api_body_bytes', 'dripline_api_bodies_waiting', 'dripline_api_refused_total{reason="bodies"}'])}`,
    ],
    [
      'memory for bodies, of a workspace',
      mebibytes(rules.workspaceBytesMax),
      'the same',
      'the same',
    ],
    [
      'pace of a body',
      `${kilobytes(rules.bytesPerSecondMin)} a second, after ${seconds(rules.grace_ms)}. While others wait for memory, the largest of the bodies that keep them from it: ${kilobytes(rules.contendedBytesPerSecondMin)} a second, counted from when that began, after ${seconds(rules.grace_ms)}`,
      tooSlow,
      slow,
    ],
    ['silence within a body', seconds(rules.silent_ms), tooSlow, 'the same'],
  ]
}
