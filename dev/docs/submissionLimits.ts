// The table of the bounds of mail that comes by SMTP, from the numbers that the listener keeps to.
import { guardRules, guardTimes } from '../../inbound/submission/guard.ts'
import { listenerRules } from '../../inbound/submission/listener.ts'
import { receiving } from '../../inbound/submission/receive.ts'
import { spoolLimits, WORKSPACE_PART } from '../../inbound/submission/spool.ts'
import { limits, MEBIBYTE } from '../../rules/limits.ts'
import { markdownTable } from './markdown.ts'

const count = (value: number) => value.toLocaleString('en-US')
const mebibytes = (bytes: number) => `${count(bytes / MEBIBYTE)} MiB`
const minutes = (ms: number) => (ms === 60_000 ? 'a minute' : `${count(ms / 60_000)} minutes`)

/** Sizes, connections, times and memory, each of one worker unless it says otherwise, and what is done beyond them. */
export function submissionLimitsTable(): string {
  const { small, large } = receiving
  const { filesMax, memoryMax, messageMemoryMax } = spoolLimits
  return markdownTable(
    ['limit', 'value', 'beyond it'],
    [
      ['a message', mebibytes(limits.submissionBytesMax), '552'],
      ['recipients of a message', count(limits.recipientsPerEmailMax), '452 for each further one'],
      [
        'further recipients on one connection',
        count(guardRules.excessRecipientsMax),
        '421, and the connection is closed',
      ],
      ['connections', count(listenerRules.connectionsMax), '421'],
      ['connections of a workspace', count(guardRules.connectionsPerWorkspaceMax), '421'],
      [
        'connections of a client (an IPv4 address, or a whole /64 of IPv6) that have shown no key',
        count(guardRules.strangersPerClientMax),
        '421; on the port with TLS from the first byte the connection is closed',
      ],
      ['wrong keys on one connection', count(guardRules.wrongKeysMax), '421 to the last of them'],
      ['time to show a key', minutes(guardTimes.stranger_ms), 'the connection is closed'],
      [
        'time for a message, from DATA to its reply',
        minutes(guardTimes.message_ms),
        'the connection is closed',
      ],
      ['silence', minutes(listenerRules.silence_ms), '421'],
      [
        'messages that come, in memory',
        `${messageMemoryMax / 1024} KiB of one, ${mebibytes(memoryMax)} of all`,
        'they stand in files',
      ],
      [
        'messages that come, in files',
        `${mebibytes(filesMax)}, of a workspace ${mebibytes(filesMax * WORKSPACE_PART)} or one message of any size`,
        '452',
      ],
      [
        'messages of up to a MiB that are read and committed at a time',
        `${mebibytes(small.bytesMax)}, ${mebibytes(small.ownerBytesMax)} of a workspace`,
        'they wait, in turns by workspace',
      ],
      [
        'larger messages that are read and committed at a time',
        `${mebibytes(large.bytesMax)}, ${mebibytes(large.ownerBytesMax)} of a workspace, or one message of any size`,
        'the same',
      ],
    ],
  )
}
