// JSON with large texts, made in pieces: nobody else waits while it is made, and no more of it is in memory than one piece.
import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** UTF-16 units that are made in one turn of the event loop: a millisecond at most. */
const PIECE_CHARS = 64 * 1024

/**
 * The JSON of an object, in pieces: the same characters as `JSON.stringify` makes.
 * @param large for some of its fields the text that stands there in place of the value, in parts of any size. No part ends
 * between the two halves of a surrogate pair
 */
export async function* jsonPieces(
  object: object,
  large: Readonly<Record<string, () => AsyncIterable<string>>>,
): AsyncGenerator<string> {
  let json = '{'
  let comma = ''
  for (const [name, value] of Object.entries(object)) {
    const partsOf = large[name]
    const small = JSON.stringify(value)
    if (!partsOf && small === undefined) continue
    json += `${comma}${JSON.stringify(name)}:`
    comma = ','
    if (partsOf) {
      yield `${json}"`
      for await (const part of partsOf()) yield* escaped(part)
      json = '"'
    } else json += small
  }
  yield `${json}}`
}

/** What stands between the quotes of a JSON text. */
function* escaped(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    let end = Math.min(from + PIECE_CHARS, text.length)
    if (end < text.length && isFirstHalf(text.charCodeAt(end - 1))) end -= 1
    yield JSON.stringify(text.slice(from, end)).slice(1, -1)
    from = end
  }
}

/** Whether a UTF-16 unit begins a surrogate pair: alone, JSON would write it as an escape. */
const isFirstHalf = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff

/**
 * The body of an answer. The next piece is made when the client has taken the one before, in a turn of its own; none is
 * made after the client has gone.
 * @param outgoing whose connection is closed when making a piece fails: the answer has begun then, and its client must not
 * take the beginning for the whole. Undefined for a request without a socket, whose body fails
 * @param onFailure is told of that error
 */
export function bodyOf(
  pieces: AsyncGenerator<string>,
  outgoing: ServerResponse | undefined,
  onFailure: (err: unknown) => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder()
  let isCancelled = false
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          await nextTurn()
          const { value, done } = await pieces.next()
          if (isCancelled) return
          if (done) controller.close()
          else controller.enqueue(encoder.encode(value))
        } catch (err) {
          if (isCancelled) return
          onFailure(err)
          if (!outgoing) return controller.error(err)
          outgoing.destroy()
          controller.close()
        }
      },
      async cancel() {
        isCancelled = true
        await pieces.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
}
