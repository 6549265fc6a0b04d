// Asks Postgres for the columns of a statement's result, without running it.
import pg from 'pg'
import type { BaseType } from './rawStatements.ts'

export interface DescribedColumn {
  name: string
  type: BaseType
  /** Type of the elements of an array; null if the column is not an array. */
  element: BaseType | null
  /** Whether the table's column may be null; false also if Postgres does not say. */
  isNullable: boolean
}

interface Field {
  name: string
  dataTypeID: number
  tableID: number
  columnID: number
}

interface Wire {
  parse(query: { name: string; text: string; types: number[] }): void
  describe(what: { type: 'S'; name: string }): void
  sync(): void
}

/** Types as pg gives them to JavaScript, with int8 as a number (db/connect.ts). */
const typeNames: Record<string, BaseType> = {
  bool: 'boolean',
  bytea: 'Buffer',
  date: 'Date',
  float4: 'number',
  float8: 'number',
  int2: 'number',
  int4: 'number',
  int8: 'number',
  json: 'json',
  jsonb: 'json',
  numeric: 'string',
  text: 'string',
  timestamptz: 'Date',
  uuid: 'string',
  varchar: 'string',
  xid8: 'string',
}

/** Opens a connection. @returns a function that describes statements, and one that closes the connection */
export async function openDescriber(url: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const typeOf = (name: string): BaseType => {
    const type = typeNames[name]
    if (!type) throw new Error(`Postgres type ${name} is not known here`)
    return type
  }

  async function describe(text: string): Promise<DescribedColumn[]> {
    const fields = await fieldsOf(client, text)
    const { rows: types } = await client.query<{
      oid: number
      name: string
      element: string | null
    }>(
      `select t.oid, t.typname as name, e.typname as element from pg_type t
        left join pg_type e on e.oid = t.typelem and t.typcategory = 'A' where t.oid = any($1)`,
      [fields.map((field) => field.dataTypeID)],
    )
    const { rows: nullable } = await client.query<{ table: number; column: number }>(
      `select attrelid as table, attnum as column from pg_attribute
        where not attnotnull and attrelid = any($1)`,
      [fields.map((field) => field.tableID)],
    )
    return fields.map(({ name, dataTypeID, tableID, columnID }) => {
      const type = types.find(({ oid }) => oid === dataTypeID)
      if (!type) throw new Error(`no type ${dataTypeID}`)
      return {
        name,
        type: type.element === null ? typeOf(type.name) : 'array',
        element: type.element === null ? null : typeOf(type.element),
        isNullable: nullable.some(({ table, column }) => table === tableID && column === columnID),
      }
    })
  }
  return { describe, close: () => client.end() }
}

/** The answer to Describe of the extended protocol. A statement without a result has no fields. */
function fieldsOf(client: pg.Client, text: string): Promise<Field[]> {
  return new Promise((resolve, reject) => {
    let fields: Field[] = []
    let fault: Error | undefined
    const query = {
      submit(wire: Wire) {
        wire.parse({ name: '', text, types: [] })
        wire.describe({ type: 'S', name: '' })
        wire.sync()
      },
      handleRowDescription(message: { fields: Field[] }) {
        fields = message.fields
      },
      handleError(err: Error) {
        fault = new Error(`${err.message}: ${text}`)
      },
      handleReadyForQuery() {
        if (fault) reject(fault)
        else resolve(fields)
      },
    }
    client.query(query as unknown as pg.Submittable)
  })
}
