// A statement whose text is made once: to build that of a long one takes longer than to read what it answers.
import { CompiledQuery, type QueryResult, type RawBuilder, sql } from 'kysely'
import type { Trx } from './connect.ts'

/** What a call says for one parameter. */
class Slot<Asked> {
  readonly of: (asked: Asked) => unknown
  constructor(of: (asked: Asked) => unknown) {
    this.of = of
  }
}

/** Makes a parameter that each call fills in. Where the same one stands again, it is sent once. */
export type Slots<Asked> = <T>(of: (asked: Asked) => T) => RawBuilder<T>

/** A value, or the parameter of a prepared statement that it will be. */
export type Param<T> = T | RawBuilder<T>

/**
 * Makes a statement whose text is the same for every call.
 * @param make builds it, at the first call
 * @returns a function that gives it with what a call asks
 */
export function compileOnce<Asked, Row>(make: (slot: Slots<Asked>) => RawBuilder<Row>) {
  let made: { text: string; parameters: unknown[] } | undefined
  return (db: Trx, asked: Asked): CompiledQuery<Row> => {
    made ??= compile(
      make((of) => sql`${new Slot(of)}`),
      db,
    )
    const values = made.parameters.map((one) => (one instanceof Slot ? one.of(asked) : one))
    return CompiledQuery.raw(made.text, values) as CompiledQuery<Row>
  }
}

/** Like `compileOnce`. @returns a function that runs it with what a call asks */
export function prepare<Asked, Row>(make: (slot: Slots<Asked>) => RawBuilder<Row>) {
  const statement = compileOnce(make)
  return (db: Trx, asked: Asked): Promise<QueryResult<Row>> => db.executeQuery(statement(db, asked))
}

/** The text of a statement, and its parameters without those that stood before. */
function compile(statement: RawBuilder<unknown>, db: Trx) {
  const { sql: text, parameters } = statement.compile(db)
  const places = new Map<unknown, number>()
  const numbers = parameters.map((one, i) => {
    // Constants may have other types elsewhere.
    const key = one instanceof Slot ? one : i
    const place = places.get(key) ?? places.size + 1
    places.set(key, place)
    return place
  })
  const once = parameters.filter((_, i) => numbers.indexOf(numbers[i] ?? 0) === i)
  return {
    text: text.replace(/\$(\d+)/g, (_, number: string) => `$${numbers[Number(number) - 1]}`),
    parameters: once,
  }
}
