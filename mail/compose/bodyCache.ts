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
/** Of how many bodies at least, which were composed once, it is known that another one is the same. */
const ONCE_MIN = 5_000

/**
 * Makes a cache of encoded bodies by content: of those that were composed twice. Most bodies are of one mail alone, and to keep them
 * took a quarter of the time of composing them. The least recently used ones are dropped first.
 */
export function createBodies(limits: BodyCacheLimits = LIMITS) {
  const kept = new LRUCache<string, MaybeLater<BodySection>>({ maxSize: limits.bytesMax })
  const isComposedBefore = createRecent(ONCE_MIN)

  const keep = (key: string, section: MaybeLater<BodySection>) => {
    if (!isLater(section)) {
      kept.set(key, section, { size: ENTRY_BYTES + section.length_bytes })
      return
    }
    // Its bytes count from when they are there.
    kept.set(key, section, { size: ENTRY_BYTES })
    const ifKept = (act: () => void) => {
      if (kept.peek(key) === section) act()
    }
    section.then(
      (made) => ifKept(() => keep(key, made)),
      () => ifKept(() => kept.delete(key)),
    )
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
      const key = contentKey(html, text)
      if (once) return make(html, text, key, watched)
      const known = kept.get(key)
      if (known) return known
      const section = make(html, text, key, watched)
      if (isComposedBefore(key)) keep(key, section)
      return section
    },
    size: () => ({ entries: kept.size, bytes: kept.calculatedSize }),
  }
}

/** Makes a function that says whether it was called with a key before: of the last ones, at least so many. */
function createRecent(min: number) {
  let recent = new Set<string>()
  let before = recent
  return (key: string): boolean => {
    if (recent.has(key) || before.has(key)) return true
    // Two sets in turn: one that loses its oldest keys gets slow by the holes that they leave.
    if (recent.size >= min) {
      before = recent
      recent = new Set()
    }
    recent.add(key)
    return false
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

function contentKey(html: string | null, text: string | null): string {
  // The lengths separate html from text; -1 means null.
  const lengths = `${html?.length ?? -1}:${text?.length ?? -1}:`
  return hash('sha256', `${lengths}${html ?? ''}${text ?? ''}`, 'base64url')
}
