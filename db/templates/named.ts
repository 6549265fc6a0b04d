// Finds templates by name: an id or an alias. An alias never has the form of an id.

import { type SqlBool, sql } from 'kysely'
import { isId } from '../../rules/ids.ts'
import { isStorableText } from '../../rules/jsonFault.ts'

const isTemplateId = (name: string) => isId('template', name)

/** The condition that the template `t` of a query has that id or alias. */
export function hasName(idOrAlias: string) {
  // No template has such a name, and Postgres would refuse the text as a parameter.
  if (!isStorableText(idOrAlias)) return sql<SqlBool>`false`
  const column = isTemplateId(idOrAlias) ? 't.id' : 't.alias'
  return sql<SqlBool>`${sql.ref(column)} = ${idOrAlias}`
}

/** The condition that the template `t` has one of these ids or aliases. */
export function hasNameIn(names: readonly string[]) {
  const ids = names.filter(isTemplateId)
  const aliases = names.filter((name) => !isTemplateId(name))
  return sql<SqlBool>`(${sql.ref('t.id')} = any(${ids}::text[]) or ${sql.ref('t.alias')} = any(${aliases}::text[]))`
}

/** Rows by the requested names. A row that was requested by id and by alias is under both. */
export function byName<T extends { id: string; alias: string | null }>(
  rows: T[],
  names: readonly string[],
): Map<string, T> {
  const found = new Map<string, T>()
  for (const row of rows) {
    if (row.alias !== null && names.includes(row.alias)) found.set(row.alias, row)
    if (names.includes(row.id)) found.set(row.id, row)
  }
  return found
}
