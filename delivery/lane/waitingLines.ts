// Waiting lines of deliveries whose destination was busy: one for each domain, which moves as fast as the domain
// accepts mail.

/** Time between two deliveries of a line while the speed of its domain is not known. */
const SPACING_MS = 20
const SPACING_MS_MIN = 2
const SPACING_MS_MAX = 1_000
/**
 * The longest wait in a line. Deliveries beyond it come back at random times before it, because the domain may
 * become faster.
 */
const LINE_MS_MAX = 10 * 60_000
/** Weight of the latest delivery in the average of a domain's speed. */
const WEIGHT = 0.1
const DOMAINS_MAX = 10_000

interface Line {
  /** When the last delivery of the line is due, ms. */
  end: number
  spacing_ms: number
  tookAt: number
}

/**
 * Without these lines a long queue for one domain would come back all at once, find the domain busy and come back
 * again, which loads lane and database for nothing. So each untried delivery comes back after those before it.
 */
export function createWaitingLines(random: () => number = Math.random) {
  const lines = new Map<string, Line>()

  return {
    /** Adds an untried delivery to the line of its domain. @returns ms until it should come back */
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
    /** Learns the speed of a domain from a message that it has accepted or refused now. */
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
