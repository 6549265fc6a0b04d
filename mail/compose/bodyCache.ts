// A cache of encoded bodies. A message with a known body only needs a new header and a signature.
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { after, isLater, type MaybeLater } from '../../rules/later.ts'
import { unwatched, type Watched } from '../../rules/watched.ts'
import { textInTurns } from '../content/text.ts'
import { type BodySection, bodySection } from './bodySection.ts'
import type { ComposeInput } from './input.ts'

export interface BodyCacheLimits {
  /** Size of the whole cache. */
  bytesMax: number
  /** Longer bodies (in UTF-16 units) are not cached. */
  charsMax: number
}

export interface BodyOptions {
  once?: boolean
  watched?: Watched
}

export type Bodies = ReturnType<typeof createBodies>

const LIMITS: BodyCacheLimits = {
  bytesMax: 64 * 1024 * 1024,
  charsMax: 1024 * 1024,
}
/** Estimated memory of an entry besides its bytes. */
const ENTRY_BYTES = 500
/** The keys of so many last bodies at least are remembered. */
const SEEN_KEYS_MIN = 5_000

/**
 * Makes a cache of encoded bodies by content, which keeps a body when it is encoded for the second time. Most bodies are of one mail,
 * and to keep those took a quarter of the time of encoding them. The least recently used ones are dropped first.
 */
export function createBodies(limits: BodyCacheLimits = LIMITS) {
  const kept = new LRUCache<string, MaybeLater<BodySection>>({ maxSize: limits.bytesMax })
  const seen = createSeenKeys(SEEN_KEYS_MIN)
  const keyOf = createKeyOf()

  /** @returns what is kept */
  const keep = (key: string, section: MaybeLater<BodySection>): MaybeLater<BodySection> => {
    if (!isLater(section)) {
      const own = withOwnBytes(section)
      kept.set(key, own, { size: ENTRY_BYTES + own.length_bytes })
      return own
    }
    // Its size is known when it is encoded.
    kept.set(key, section, { size: ENTRY_BYTES })
    const ifKept = (act: () => void) => {
      if (kept.peek(key) === section) act()
    }
    section.then(
      (made) => ifKept(() => keep(key, made)),
      () => ifKept(() => kept.delete(key)),
    )
    return section
  }

  return {
    /**
     * The body section of a message. Its boundary is derived from the content.
     * @param text null: made from the html
     * @param id of the email: the boundary of a body that is too long for the cache is derived from it
     * @param options `once`: true for content that no other message has, which is not cached; `watched`: for each piece of
     * synchronous work
     */
    of(
      { html, text, id }: Pick<ComposeInput, 'html' | 'text' | 'id'>,
      { once = false, watched = unwatched }: BodyOptions = {},
    ): MaybeLater<BodySection> {
      const chars = (html?.length ?? 0) + (text?.length ?? 0)
      if (chars > limits.charsMax) return make(html, text, id, watched)
      if (once) return make(html, text, contentKey(html, text), watched)
      const key = keyOf(html, text)
      const known = kept.get(key)
      if (known) return known
      const section = make(html, text, key, watched)
      return seen.note(key) ? keep(key, section) : section
    },
    size: () => ({ entries: kept.size, bytes: kept.calculatedSize }),
  }
}

/** A small buffer is a piece of a pool, which it would keep in memory as a whole: it is copied. */
function withOwnBytes(section: BodySection): BodySection {
  const chunks = section.chunks.map((chunk) => {
    if (chunk.length === chunk.buffer.byteLength) return chunk
    const own = Buffer.allocUnsafeSlow(chunk.length)
    chunk.copy(own)
    return own
  })
  return { ...section, chunks }
}

/** Remembers keys: of those that were noted last between `min` and twice as many. */
function createSeenKeys(min: number) {
  // Two sets, of which the older one is dropped as a whole: a set gets slow by the holes that each deleted key leaves.
  let newer = new Set<string>()
  let older = newer
  return {
    /** Notes a key. @returns whether it was remembered already */
    note(key: string): boolean {
      if (newer.has(key) || older.has(key)) return true
      if (newer.size >= min) {
        older = newer
        newer = new Set()
      }
      newer.add(key)
      return false
    },
  }
}

function make(
  html: string | null,
  text: string | null,
  seed: string,
  watched: Watched,
): MaybeLater<BodySection> {
  const plain = text ?? (html ? textInTurns(html, watched) : null)
  return after(plain, (ready) => bodySection(html, ready, seed, watched))
}

/** Makes the function that gives a content its key. It remembers the last content: often the next mail has the same, and to compare takes less time than to hash. */
function createKeyOf() {
  let last: { html: string | null; text: string | null; key: string } | undefined
  return (html: string | null, text: string | null): string => {
    if (last?.html !== html || last.text !== text)
      last = { html, text, key: contentKey(html, text) }
    return last.key
  }
}

function contentKey(html: string | null, text: string | null): string {
  // The lengths separate html from text; -1 means null.
  const lengths = `${html?.length ?? -1}:${text?.length ?? -1}:`
  return hash('sha256', `${lengths}${html ?? ''}${text ?? ''}`, 'base64url')
}
