// Column helpers that the table files share.
import type { ColumnType, JSONColumnType } from 'kysely'

export type { JsonObject } from '../../rules/json.ts'

/** jsonb: read as an object, written as its JSON text. */
export type JsonColumn<T extends object> = JSONColumnType<T>
export type NullableJson<T extends object> = ColumnType<T | null, string | null, string | null>
/** A column that the database sets if the insert leaves it out. */
export type Defaulted<T> = ColumnType<T, T | undefined, T>
