// From what nodemailer reports to an Outcome.
import type { Outcome, Phase, Rejection } from '../transport.ts'

const REPLY_CHARS_MAX = 4096

/** The parts of nodemailer's errors that tell one end from another. */
export interface SmtpFault {
  message: string
  code?: string | undefined
  /** nodemailer's name of the command; CONN for what belongs to none, API for its own refusals. */
  command?: string | undefined
  originalCode?: string | undefined
  response?: string | undefined
  responseCode?: number | undefined
}

export interface SessionState {
  /** What was being waited for. */
  phase: Phase
  /** What the last reply answered. */
  answered: Phase
  /** The end of the message was let go: the dot may have been sent. */
  released: boolean
  /** TLS from the first byte: nodemailer reports its failures as those of connecting. */
  implicitTls: boolean
}

/** How a session or a transaction that failed has ended. */
export function toOutcome(fault: SmtpFault, state: SessionState): Outcome {
  const { response, responseCode = 0 } = fault
  if (response !== undefined && responseCode >= 400 && responseCode <= 599) {
    return rejection(rejectedPhase(fault, state), response)
  }
  if (state.released) return { kind: 'ambiguous', error: printable(fault.message) }
  if (fault.code === 'EMESSAGE' && fault.command === 'MAIL FROM') {
    return rejection('mail', '552 5.3.4 the message is larger than the server takes')
  }
  // the codes of a failed connection are the system's, those of TLS are written with underscores
  const tls = state.implicitTls && state.phase === 'connect' && /_/.test(fault.originalCode ?? '')
  return { kind: 'failed', phase: tls ? 'tls' : state.phase, error: printable(fault.message) }
}

function rejectedPhase(fault: SmtpFault, state: SessionState): Phase {
  if (fault.command === 'MAIL FROM') return 'mail'
  if (fault.command === 'RCPT TO') return 'rcpt'
  if (fault.command === 'DATA' && fault.code !== 'EMESSAGE') return 'data'
  return state.answered
}

/** A Rejection out of a reply of 4xx or 5xx. */
export function rejection(phase: Phase, response: string): Rejection {
  const reply = printable(response)
  const enhanced = /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/m.exec(reply)?.[1] ?? null
  return { kind: 'rejected', phase, code: Number(reply.slice(0, 3)), enhanced, reply }
}

/** The last line of a reply. */
export function lastLine(response: string): string {
  return printable(response.slice(response.trimEnd().lastIndexOf('\n') + 1)).trimEnd()
}

/** At most 4 KiB, without control characters: replies are stored, and Postgres takes no NUL. */
function printable(text: string): string {
  return text.slice(0, REPLY_CHARS_MAX).replace(/[^\P{Cc}\n]/gu, '?')
}
