// Where mail waits that its destination had no time for: in a line for each domain that moves as fast as the domain takes mail.

/** Between two mails of a line before it is known how fast its domain is. */
const SPACING_MS = 20
const SPACING_MS_MIN = 2
const SPACING_MS_MAX = 1_000
/** A line's end: what is behind it comes back spread over the time before, since a domain may well become faster. */
const LINE_MS_MAX = 10 * 60_000
/** How much the latest mail says of a domain's speed. */
const WEIGHT = 0.1
const DOMAINS_MAX = 10_000

interface Line {
  /** When the last of it is due, ms. */
  end: number
  spacing_ms: number
  tookAt: number
}

/**
 * A long queue for one domain would come back all at once, be refused again and come back again, and keep lane and
 * database busy with nothing. So each mail that was not tried is told to come back after those before it.
 */
export function createWaitingLines(random: () => number = Math.random) {
  const lines = new Map<string, Line>()

  return {
    /** A mail that was not tried joins the line of its domain. @returns ms until it should come back */
    join(domain: string, least_ms: number, now: number): number {
      if (lines.size >= DOMAINS_MAX) {
        for (const [known, { end }] of lines) if (end < now) lines.delete(known)
      }
      const line = lines.get(domain) ?? { end: 0, spacing_ms: SPACING_MS, tookAt: now }
      lines.set(domain, line)
      line.end = Math.max(line.end + line.spacing_ms, now + least_ms)
      const longest = Math.max(least_ms, LINE_MS_MAX)
      if (line.end - now <= longest) return Math.ceil(line.end - now)
      line.end = now + longest
      return Math.ceil(least_ms + (longest - least_ms) * random())
    },
    /** A domain has taken (or refused) a mail: that is how fast it is. */
    took(domain: string, now: number): void {
      const line = lines.get(domain)
      if (!line) return
      if (line.end < now) {
        lines.delete(domain)
        return
      }
      const spacing = line.spacing_ms + WEIGHT * (now - line.tookAt - line.spacing_ms)
      line.spacing_ms = Math.min(Math.max(spacing, SPACING_MS_MIN), SPACING_MS_MAX)
      line.tookAt = now
    },
  }
}
