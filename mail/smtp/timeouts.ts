// Timeouts of an SMTP session (RFC 5321 section 4.5.3.2), by name and by phase.
import type { Phase } from '../../rules/mail/phases.ts'

export interface SmtpTimeouts {
  connectMs: number
  bannerMs: number
  /** EHLO, STARTTLS, AUTH, MAIL, RCPT. */
  commandMs: number
  dataMs: number
  /** Time without progress while the message is written. */
  bodyMs: number
  /** From the dot to its reply. */
  dotMs: number
  /** An unused connection is closed after this time. */
  idleMs: number
}

export const defaultTimeouts: SmtpTimeouts = {
  connectMs: 30_000,
  bannerMs: 60_000,
  commandMs: 300_000,
  dataMs: 120_000,
  bodyMs: 180_000,
  dotMs: 600_000,
  idleMs: 10_000,
}

/** How long each phase of a session may take, ms. */
export function toPhaseMs(timeouts: SmtpTimeouts): Record<Phase, number> {
  const { connectMs, bannerMs, commandMs, dataMs, bodyMs, dotMs } = timeouts
  return {
    connect: connectMs,
    banner: bannerMs,
    ehlo: commandMs,
    tls: commandMs,
    mail: commandMs,
    rcpt: commandMs,
    data: dataMs,
    body: bodyMs,
    dot: dotMs,
  }
}
