// Describes why a child ended: how, the important lines of its log, and where the log is.
import { readFileSync } from 'node:fs'
import type { Exit } from './exit.ts'
import type { Child } from './processes.ts'

const LINES_SHOWN = 8
const LINE_CHARS = 240
const INDENT = '    '

/** Log texts that show a fault of the machine, and what to do then. */
const reasons: [pattern: RegExp, reason: string][] = [
  [
    /no space left on device|ENOSPC|disk is full/i,
    'the disk is full: make room, or name a folder on another disk with DRIPLINE_DATA',
  ],
  [
    /cannot allocate memory|out of memory|ENOMEM|signal 9: killed/i,
    'memory ran out: close other programs, or give this machine or container more',
  ],
  [
    /address already in use|EADDRINUSE/i,
    'another program took its port just now: start again, which chooses another',
  ],
  [
    /file is not a database|database disk image is malformed/i,
    'its data file is broken: move that away, and the next start makes a new one',
  ],
  [
    /incorrect checksum in control file|valid checkpoint record|files are incompatible with server/i,
    'its data folder is broken or of another version: move that away, and the next start makes a new one',
  ],
  [/read-only file system|EROFS/i, 'its folder is read-only: name another one with DRIPLINE_DATA'],
]

/**
 * One sentence with the reason if the log shows it, then the log's last lines and its path.
 * @param exit how the child ended; undefined if it still runs but is not ready in time
 */
export function endOf(child: Child, exit: Exit | undefined): string {
  const lines = telling(logOf(child))
  const known = reasons.find(([pattern]) => pattern.test(lines.join('\n')))?.[1]
  const killed = exit?.signal === 'SIGKILL' ? reasons[1]?.[1] : undefined
  const why = known ?? killed ?? 'its last lines say why'
  const shown = lines.slice(-LINES_SHOWN).map((line) => `\n${INDENT}${shorten(line)}`)
  return `${child.name} ${howOf(exit)}: ${why}.${shown.join('')}\n  Its log: ${child.logFile}`
}

function howOf(exit: Exit | undefined): string {
  if (!exit) return 'did not get ready in time'
  return exit.signal ? `was ended by ${exit.signal} at its start` : `ended at its start`
}

/** The child's part of the log file, without that of earlier runs. */
function logOf(child: Child): string {
  try {
    return readFileSync(child.logFile).subarray(child.logFrom_bytes).toString('utf8')
  } catch {
    return ''
  }
}

/** The messages of a log, without stack traces and markers. */
export function telling(log: string): string[] {
  const noise =
    /^\s*$|^\s+at |^\s*\^+\s*$|triggerUncaughtException\(|^Node\.js v|^node:internal\/|^\s*[{}],?\s*$|^\/.*:\d+$/
  return log.split('\n').flatMap((line) => (noise.test(line) ? [] : [inWords(line)]))
}

/** The begin and the end of a long line: the end often holds the innermost cause. */
function shorten(line: string): string {
  if (line.length <= LINE_CHARS) return line
  return `${line.slice(0, LINE_CHARS / 2)} … ${line.slice(-LINE_CHARS / 2)}`
}

/** A line of the service's log (JSON) or of Temporal's (logfmt) as text: its message and that of its error. */
function inWords(line: string): string {
  const [, said, fault] =
    /^time=\S+ level=\w+ msg="((?:[^"\\]|\\.)*)"(?:.* error="((?:[^"\\]|\\.)*)")?/.exec(line) ?? []
  if (said) return [said, fault].filter(Boolean).join(': ')
  if (!line.startsWith('{')) return line.trimEnd()
  try {
    const { msg, err } = JSON.parse(line) as { msg?: string; err?: { message?: string } }
    return [msg, err?.message].filter(Boolean).join(': ') || line
  } catch {
    return line
  }
}
