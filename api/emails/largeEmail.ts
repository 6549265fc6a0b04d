// Answers an email with a large content in pieces: html and text are read from the database as fast as the client takes them.
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as pause } from 'node:timers/promises'
import type { HttpBindings } from '@hono/node-server'
import type { Context, TypedResponse } from 'hono'
import type { JSONParsed } from 'hono/utils/types'
import { findEmailSlice, type LongColumn, SLICE_BYTES } from '../../db/emails/sliceReads.ts'
import { ClientGone } from '../../db/shares.ts'
import { textInTurns } from '../../mail/content/text.ts'
import type { ApiDeps, ApiEnv } from '../http/env.ts'
import { bodyOf, jsonPieces } from '../http/largeJson.ts'
import { forWorkspace } from '../http/scopes.ts'
import type { Email } from './schemas.ts'

const TRIES_MAX = 4
const AGAIN_MS = 1_000

/**
 * The answer, with the same bytes as `c.json` would give. No connection to the database is held between two slices. When the
 * email is deleted meanwhile, the connection to the client is closed.
 * @param email without its content
 * @param bytes of the content as UTF-8; null for what the email does not have
 */
export function answerInPieces(
  { db, log }: Pick<ApiDeps, 'db' | 'log'>,
  c: Context<ApiEnv>,
  email: Email,
  bytes: Record<LongColumn, number | null>,
): TypedResponse<JSONParsed<Email>, 200, 'json'> {
  const read = async (column: LongColumn, from: number): Promise<Buffer[]> => {
    const slice = await tryAgain(() =>
      forWorkspace(c, () => findEmailSlice(db, c.var.reach, email.id, { column, from })),
    )
    if (slice.length === 0) throw new Error('the email was deleted while it was answered')
    return slice
  }
  async function* partsOf(column: LongColumn): AsyncGenerator<string> {
    const decoder = new StringDecoder('utf8')
    let left = bytes[column] ?? 0
    for (let from = 1; left > 0; from += SLICE_BYTES) {
      for (const piece of await read(column, from)) {
        left -= piece.length
        yield decoder.write(piece)
      }
    }
  }
  async function* textParts(): AsyncGenerator<string> {
    if (bytes.text !== null) yield* partsOf('text')
    else {
      // The first slice is at least as long as what the text is made from.
      const decoder = new StringDecoder('utf8')
      const begun = (await read('html', 1)).map((piece) => decoder.write(piece)).join('')
      yield await textInTurns(begun)
    }
  }

  const pieces = jsonPieces(email, { html: () => partsOf('html'), text: textParts })
  const { outgoing } = (c.env ?? {}) as Partial<HttpBindings>
  const body = bodyOf(pieces, outgoing, (err) => {
    const facts = { request_id: c.var.requestId, workspace_id: c.var.workspaceId }
    if (err instanceof ClientGone) log.debug(facts, 'the client went away')
    else log.warn({ ...facts, err }, 'an answer that had begun could not be finished')
  })
  const answer: Response = c.body(body, 200, { 'Content-Type': 'application/json' })
  // The same bytes as an `Email` that `c.json` writes, which its type cannot show.
  return answer as Response & TypedResponse<JSONParsed<Email>, 200, 'json'>
}

/** An answer that has begun cannot become a 503: a database that is busy or away for a moment is asked again. */
async function tryAgain<T>(read: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await read()
    } catch (err) {
      if (err instanceof ClientGone || tries >= TRIES_MAX) throw err
    }
    await pause(AGAIN_MS)
  }
}
