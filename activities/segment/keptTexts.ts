// Texts of mails that were rendered for a segment which has not been written yet. They outlive a try, so that the next one
// goes on where it ended.
import { LRUCache } from 'lru-cache'
import type { RenderedEmail } from '../../mail/content/template.ts'
import { MEBIBYTE } from '../../rules/limits.ts'

/** Of all segments. One that has more by itself is not kept. */
const KEPT_BYTES_MAX = 64 * MEBIBYTE
const SEGMENT_BYTES_MAX = 128 * MEBIBYTE
const KEPT_MS = 10 * 60 * 1000
/** What an entry takes beside its text. */
const ENTRY_BYTES = 500
/** How long a segment's mails were rendered is known for longer than their texts: it ends tries that lead nowhere. */
const SPENT_MAX = 50_000
const SPENT_MS = 24 * 60 * 60 * 1000

const TOO_MUCH: RenderedEmail = {
  ok: false,
  kind: 'fault',
  message: `the mails of one segment have over ${SEGMENT_BYTES_MAX / 2} characters`,
}

export interface Text {
  rendered: RenderedEmail
  /** The token of the unsubscribe link that stands in it. */
  token: string
}

export type SegmentKept = ReturnType<typeof createSegmentKept>
export type KeptTexts = ReturnType<typeof createKeptTexts>

/** What is kept of one segment. @param spent_ms how long its mails were rendered in earlier tries */
export function createSegmentKept(spent_ms = 0) {
  const texts = new Map<string, Text>()
  let bytes = ENTRY_BYTES
  return {
    spent_ms,
    get: (key: string) => texts.get(key),
    /** Keeps a text; when the segment has too many, that it has. */
    set(key: string, text: Text): void {
      const more = bytesOf(text)
      const fits = bytes + more <= SEGMENT_BYTES_MAX
      if (fits) bytes += more
      texts.set(key, fits ? text : { ...text, rendered: TOO_MUCH })
    },
    count: () => texts.size,
    bytes: () => bytes,
  }
}

/** Makes what a worker keeps. The segment that was not asked for the longest is forgotten first. */
export function createKeptTexts() {
  const kept = new LRUCache<string, SegmentKept>({ maxSize: KEPT_BYTES_MAX, ttl: KEPT_MS })
  const spent = new LRUCache<string, number>({ max: SPENT_MAX, ttl: SPENT_MS })
  return {
    /** Whether an earlier try of the segment had to leave. @param id of the segment */
    has: (id: string): boolean => spent.has(id),
    of: (id: string): SegmentKept => kept.get(id) ?? createSegmentKept(spent.get(id)),
    keep(id: string, segment: SegmentKept): void {
      spent.set(id, segment.spent_ms)
      // Deleted first, since a cache does not count anew what it holds already.
      kept.delete(id)
      kept.set(id, segment, { size: segment.bytes() })
    },
    forget(id: string): void {
      spent.delete(id)
      kept.delete(id)
    },
  }
}

function bytesOf({ rendered }: Text): number {
  if (!rendered.ok) return ENTRY_BYTES
  const { subject, html, text } = rendered
  return ENTRY_BYTES + 2 * (subject.length + (html?.length ?? 0) + (text?.length ?? 0))
}
