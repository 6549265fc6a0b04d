// Tells quickly that a text does not hold another one, by their runs of six characters.

/** A shorter text has no gram, and is said to be in every text. */
export const GRAM_CHARS = 6
const GRAM_BITS = 2 ** 20

/**
 * Marks each run of six characters of a text, and makes the function that tells whether all of those of another text are marked: if not,
 * the first does not hold it. So nearly all forms are known to be absent by a look or two.
 */
export function createGrams(text: string): (part: string) => boolean {
  const marks = new Uint8Array(GRAM_BITS / 8)
  for (const gram of gramsOf(text)) marks[gram >> 3] = (marks[gram >> 3] ?? 0) | (1 << (gram & 7))
  return (part) => {
    for (const gram of gramsOf(part))
      if (((marks[gram >> 3] ?? 0) & (1 << (gram & 7))) === 0) return false
    return true
  }
}

/** A number below `GRAM_BITS` for each run of `GRAM_CHARS` characters. */
function* gramsOf(text: string): Generator<number> {
  let hash = 0
  for (let i = 0; i < text.length; i++) {
    // Five bits further for each character: after six of them one is gone.
    hash = ((hash << 5) ^ text.charCodeAt(i)) & 0x3fff_ffff
    if (i >= GRAM_CHARS - 1) yield (hash ^ (hash >>> 11)) & (GRAM_BITS - 1)
  }
}
