// Texts of mails that were rendered for a segment which has not been written yet. They outlive a try, so that the next one
// goes on where it ended.
import { LRUCache } from 'lru-cache'
import type { RenderedEmail } from '../../mail/content/template.ts'
import { MEBIBYTE } from '../../rules/limits.ts'

const KEPT_BYTES_MAX = 64 * MEBIBYTE
const KEPT_MS = 10 * 60 * 1000
/** What an entry takes beside its text. */
const ENTRY_BYTES = 500

export interface Text {
  rendered: RenderedEmail
  /** The token of the unsubscribe link that stands in it. */
  token: string
}

/** What is kept of one segment. */
export interface SegmentKept {
  texts: Map<string, Text>
  /** How long its mails were rendered, in all tries. */
  spent_ms: number
}

export type KeptTexts = ReturnType<typeof createKeptTexts>

/** Makes what a worker keeps. The segment that was not asked for the longest is forgotten first. */
export function createKeptTexts() {
  const kept = new LRUCache<string, SegmentKept>({ maxSize: KEPT_BYTES_MAX, ttl: KEPT_MS })
  return {
    has: (id: string): boolean => kept.has(id),
    /** @param id of the segment */
    of: (id: string): SegmentKept => kept.get(id) ?? { texts: new Map(), spent_ms: 0 },
    keep(id: string, segment: SegmentKept): void {
      kept.delete(id)
      kept.set(id, segment, { size: bytesOf(segment) })
    },
    forget: (id: string): void => void kept.delete(id),
  }
}

function bytesOf({ texts }: SegmentKept): number {
  let bytes = ENTRY_BYTES
  for (const { rendered } of texts.values()) {
    bytes += ENTRY_BYTES
    if (!rendered.ok) continue
    const { subject, html, text } = rendered
    bytes += 2 * (subject.length + (html?.length ?? 0) + (text?.length ?? 0))
  }
  return bytes
}
