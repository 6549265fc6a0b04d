// Reads the body of one request: bounded in bytes, memory, time and shape before anything is parsed.
import { isUtf8 } from 'node:buffer'
import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import { limits } from '../../../rules/limits.ts'
import { giveWay } from '../../../runtime/giveWay.ts'
import type { ApiEnv } from '../env.ts'
import { ApiError, invalidJson } from '../errors.ts'
import { createBodyBudget } from './budget.ts'
import { expectsContinue } from './continue.ts'
import { type BodyMemory, createBodyMemory } from './memory.ts'
import { createPace } from './pace.ts'
import type { BodyRules } from './rules.ts'
import { checkShape } from './shape.ts'
import { type BodySource, nodeSource, webSource } from './source.ts'
import { type LargeFields, parseJson, Splitter, textOf } from './splitter.ts'
import { createUtf8Check } from './utf8.ts'

/** After pieces that took as long, other requests have their turn. */
const TURN_MS = 5
/** The part of the time in which very long bodies are read while other requests want it. */
const READING_PART = 1 / 8

/** A body that has been read. */
export interface Body {
  /** @throws ApiError 400 `invalid_json` for bytes that are not UTF-8 */
  text(): string
  /** @throws ApiError 400 `invalid_json` */
  json(): unknown
  /** Gives its memory back. To be called when the answer is made. */
  release(): void
}

/** What an operation allows. */
export interface BodyLimits {
  bodyBytesMax: number
  largeFields?: LargeFields | undefined
  /** Gets each piece of the body as it comes. */
  seen?: ((piece: Buffer) => void) | undefined
}

/** Makes the reader of all bodies of a process. */
export function createBodyReader(rules: BodyRules) {
  const budget = createBodyBudget(rules)

  const sourceOf = (c: Context<ApiEnv>, isInTheWay: () => boolean): BodySource => {
    const { incoming, outgoing } = (c.env ?? {}) as Partial<HttpBindings>
    if (!incoming || !outgoing) return webSource(c.req.raw.body)
    return nodeSource(incoming, outgoing, createPace(rules, isInTheWay))
  }

  return {
    budget,
    /**
     * Reads a body whole.
     * @param owner the workspace whose share it uses
     * @throws ApiError 413 `body_too_large`, 400 `body_too_complex` or `invalid_json`, 408 `body_too_slow`, 503
     */
    async read(
      c: Context<ApiEnv>,
      owner: string,
      { bodyBytesMax, largeFields, seen }: BodyLimits,
    ): Promise<Body> {
      const stated = statedBytes(c)
      if (stated !== undefined && stated > bodyBytesMax) throw tooLarge(bodyBytesMax)
      if (stated === 0) return whole([], undefined)
      const facts = { workspaceId: owner, stated, bytesMax: bodyBytesMax, gone: () => whenGone(c) }
      const memory = createBodyMemory(budget, rules, facts)
      const isSplit = largeFields && (stated ?? bodyBytesMax) > limits.requestBytesMax
      try {
        // It has not sent anything, and does so when it is asked to.
        if (stated !== undefined && isAsked(c)) await memory.hold(stated)
        const pieces = piecesOf(sourceOf(c, memory.isInTheWay), memory, {
          stated,
          bodyBytesMax,
          seen,
        })
        const begun: Buffer[] = []
        let bytes = 0
        for (let piece = await pieces(); piece; piece = await pieces()) {
          begun.push(piece)
          bytes += piece.length
          if (!isSplit || bytes <= rules.freeBytesMax) continue
          const splitter = new Splitter(largeFields, stated ?? bodyBytesMax)
          const all = await split(pieces, begun, splitter)
          memory.came(all.bytes)
          return bodyOf(all.value, memory)
        }
        memory.came(bytes)
        return whole(begun, memory)
      } catch (err) {
        memory.release()
        throw err
      }
    },
  }
}

/**
 * Gives the next piece of a body, after there is memory for it; null at the end.
 * @throws ApiError 413 `body_too_large`, 503, and what the source throws
 */
type Pieces = () => Promise<Buffer | null>

function piecesOf(
  source: BodySource,
  memory: BodyMemory,
  {
    stated,
    bodyBytesMax,
    seen,
  }: Pick<BodyLimits, 'bodyBytesMax' | 'seen'> & { stated: number | undefined },
): Pieces {
  let bytes = 0
  return async () => {
    // What follows the last byte is not waited for.
    if (bytes === stated) return null
    const piece = await source.next()
    bytes += piece?.length ?? 0
    if (bytes > bodyBytesMax) throw tooLarge(bodyBytesMax)
    await memory.hold(bytes)
    if (piece) seen?.(piece)
    return piece
  }
}

/** The size that the headers state; undefined for a body in chunks. */
function statedBytes(c: Context<ApiEnv>): number | undefined {
  if (c.req.header('transfer-encoding') !== undefined) return undefined
  const stated = c.req.header('content-length')
  if (stated !== undefined) return Number(stated)
  // Over HTTP/1.1 there is no body then. A request that a test makes has a body and no headers.
  return (c.env as Partial<HttpBindings> | undefined)?.incoming ? 0 : undefined
}

/** Whether the client waits for `100 Continue`. */
function isAsked(c: Context<ApiEnv>): boolean {
  const { incoming } = (c.env ?? {}) as Partial<HttpBindings>
  return incoming !== undefined && expectsContinue.has(incoming)
}

/** Aborts when the connection of the request ends. */
function whenGone(c: Context<ApiEnv>): AbortSignal | undefined {
  const { incoming } = (c.env ?? {}) as Partial<HttpBindings>
  if (!incoming) return undefined
  const gone = new AbortController()
  // Every request ends so. Without a reason a DOMException with its stack would be made each time.
  incoming.once('close', () => gone.abort('gone'))
  if (incoming.destroyed) gone.abort('gone')
  return gone.signal
}

/** A body that is small enough to be parsed in one go. That is done when the operation calls `json`, not before. */
function whole(pieces: Buffer[], memory: BodyMemory | undefined): Body {
  const [first] = pieces
  const bytes = pieces.length === 1 && first ? first : Buffer.concat(pieces)
  checkShape(bytes)
  const checked = () => {
    if (!isUtf8(bytes)) throw invalidJson()
    return bytes
  }
  return {
    text: () => textOf(checked()),
    json: () => parseJson(checked()),
    release: () => memory?.release(),
  }
}

/** Reads a large body to its end: what came already, and the rest of the pieces. */
async function split(
  pieces: Pieces,
  begun: Buffer[],
  splitter: Splitter,
): Promise<{ value: unknown; bytes: number }> {
  const utf8 = createUtf8Check()
  let bytes = 0
  let worked_ms = 0
  const push = async (piece: Buffer) => {
    const began = performance.now()
    bytes += piece.length
    if (!utf8.push(piece)) throw invalidJson()
    splitter.push(piece)
    worked_ms += performance.now() - began
    if (worked_ms < TURN_MS) return
    const took_ms = worked_ms
    worked_ms = 0
    await giveWay({ took_ms, bytes, part: READING_PART })
  }
  for (const piece of begun.splice(0)) await push(piece)
  for (let piece = await pieces(); piece; piece = await pieces()) await push(piece)
  if (!utf8.end()) throw invalidJson()
  return { value: splitter.done(), bytes }
}

function bodyOf(value: unknown, memory: BodyMemory): Body {
  return {
    text() {
      // Its large texts are no strings any more, so nothing could write it as it came.
      throw new Error('a body with large fields is read with json()')
    },
    json: () => value,
    release: memory.release,
  }
}

const tooLarge = (bytes: number) =>
  new ApiError(413, 'body_too_large', `The body must not exceed ${bytes} bytes`)
