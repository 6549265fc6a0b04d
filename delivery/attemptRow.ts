// The row of one attempt: the facts of its outcome, and the first part of the SMTP conversation.
import type { AttemptRow } from '../db/deliveries/settle.ts'
import type { Outcome, Trace } from '../mail/transport.ts'
import { type ConversationLine, conversationText } from '../rules/mail/conversation.ts'

const LINES_MAX = 200
const TEXT_CHARS_MAX = 8 * 1024

/** An empty trace, which the transport fills while it talks to a server. */
export function createTrace(): Trace {
  return { domainExists: null, host: null, address: null, tls: null, lines: [], phase_ms: {} }
}

/** The row of an attempt; null if nothing was tried, or if another lane took over and writes the row. */
export function toAttempt(
  outcome: Outcome,
  trace: Trace,
  times: { attempt: number; startedAt: Date; endedAt: Date },
): AttemptRow | null {
  if (outcome.kind === 'busy' || outcome.kind === 'lost_lease') return null
  return {
    attempt: times.attempt,
    started_at: times.startedAt,
    ended_at: times.endedAt,
    outcome: outcome.kind,
    phase: 'phase' in outcome ? outcome.phase : 'dot',
    code: codeOf(outcome),
    response: 'reply' in outcome ? outcome.reply : outcome.error,
    host: trace.host,
    address: trace.address,
    tls: trace.tls,
    conversation: conversationText(cut(trace.lines)),
  }
}

function codeOf(outcome: Outcome): number | null {
  if (outcome.kind === 'rejected') return outcome.code
  if (outcome.kind !== 'delivered') return null
  const code = Number(outcome.reply.slice(0, 3))
  return Number.isInteger(code) && code >= 200 && code < 600 ? code : null
}

/** The first lines, up to `LINES_MAX` and `TEXT_CHARS_MAX`. */
function cut(lines: ConversationLine[]): ConversationLine[] {
  let chars = 0
  const end = lines.findIndex((line, i) => {
    chars += line.text.length
    return i >= LINES_MAX || chars > TEXT_CHARS_MAX
  })
  return end < 0 ? lines : lines.slice(0, end)
}
