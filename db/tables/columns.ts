// Column helpers that the table files share.
import type { ColumnType, JSONColumnType } from 'kysely'

export type { JsonObject } from '../../rules/json.ts'

/** jsonb: read as an object, written as its JSON text. */
export type JsonColumn<T extends object> = JSONColumnType<T>
export type NullableJson<T extends object> = ColumnType<T | null, string | null, string | null>
/** Set by the database when it is left out. */
export type Defaulted<T> = ColumnType<T, T | undefined, T>
