// Follows an SMTP session through nodemailer's log: which phase it is in, and what the server said last.
import type { Phase } from '../transport.ts'

interface Entry {
  tnx?: string
  remotePort?: number
}

type Note = (entry: Entry | undefined, message?: string) => void

export interface PhaseLog {
  /** For SMTPConnection's `logger`, with `transactionLog`. */
  logger: Record<'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal', Note>
  /** What is being waited for: the first command without a reply, or the phase entered last. */
  phase(): Phase
  /** What the last reply answered. */
  answered(): Phase
  enter(phase: Phase): void
  lastReply(): string
  /** Replies so far. */
  replies(): number
  /** The last reply to EHLO. */
  ehlo(): string
}

const phaseOfVerb: Record<string, Phase> = {
  EHLO: 'ehlo',
  HELO: 'ehlo',
  AUTH: 'ehlo',
  STARTTLS: 'tls',
  MAIL: 'mail',
  RSET: 'mail',
  RCPT: 'rcpt',
  DATA: 'data',
}

/** @param onPhase called whenever the phase may have changed, for timeouts */
export function createPhaseLog(onPhase: (phase: Phase) => void): PhaseLog {
  let current: Phase = 'connect'
  let last = ''
  let ehlo = ''
  let replies = 0
  /** Commands sent and not answered, oldest first: with PIPELINING there are several. */
  const waiting: Phase[] = []

  const phase = () => waiting[0] ?? current
  const note: Note = (entry, message = '') => {
    if (entry?.tnx === 'network' && entry.remotePort !== undefined) {
      waiting.push('banner')
    } else if (entry?.tnx === 'client') {
      const verb = message.split(/[ :]/, 1)[0]?.toUpperCase() ?? ''
      // lines without a verb of ours belong to AUTH, whose secrets nodemailer has blanked
      waiting.push(phaseOfVerb[verb] ?? (verb === '.' ? 'rcpt' : 'ehlo'))
    } else if (entry?.tnx === 'server') {
      const answered = waiting.shift()
      if (answered === 'ehlo') ehlo = message
      if (answered !== undefined) current = answered
      last = message
      replies += 1
    } else return
    onPhase(phase())
  }
  const logger = { trace: note, debug: note, info: note, warn: note, error: note, fatal: note }
  return {
    logger,
    phase,
    answered: () => current,
    enter(entered) {
      current = entered
      onPhase(phase())
    },
    lastReply: () => last,
    replies: () => replies,
    ehlo: () => ehlo,
  }
}
