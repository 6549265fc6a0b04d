// The fields of a JSON Schema as rows of a table: name, type, whether it is required, default, meaning.
import { isJsonObject, type Json, type JsonObject } from '../../rules/json.ts'
import { code, codes, markdownTable } from './markdown.ts'

/** Schemas that a page describes by themselves: shown as a link to the heading. */
const linked: Record<string, string> = {
  '#/components/schemas/Condition': '[condition](#conditions)',
}

interface Field {
  name: string
  schema: JsonObject
  /** In words: `yes`, '' or under which circumstances. */
  required: string
}

/** A table of all fields of an object schema, or of the alternatives of one. '' for an object without fields. */
export function fieldsTable(schema: JsonObject, head = 'field'): string {
  const fields = fieldsOf(schema)
  if (fields.length === 0) return ''
  return markdownTable(
    [head, 'type', 'required', 'default', 'meaning'],
    fields.map(({ name, schema, required }) => [
      code(name),
      typeOf(schema),
      required,
      schema['default'] === undefined ? '' : code(JSON.stringify(schema['default'])),
      String(schema['description'] ?? ''),
    ]),
  )
}

/** The fields with those inside them: `re_entry.mode`, `branches[].id`. */
function fieldsOf(schema: JsonObject): Field[] {
  const alternatives = list(schema['oneOf'] ?? schema['anyOf'])
  const fields = alternatives.length > 0 ? joined(alternatives) : ownFields(schema)
  // What is required stands first, in the order of the schema.
  fields.sort((a, b) => Number(a.required === '') - Number(b.required === ''))
  return fields.flatMap((field) => [field, ...inner(field)])
}

function inner({ name, schema }: Field): Field[] {
  const items = schema['items']
  const [of, prefix] =
    schema['type'] === 'array' && isJsonObject(items) ? [items, `${name}[]`] : [schema, name]
  if (of['type'] !== 'object' || !isJsonObject(of['properties'])) return []
  return fieldsOf(of).map((field) => ({ ...field, name: `${prefix}.${field.name}` }))
}

function ownFields(schema: JsonObject): Field[] {
  const required = list(schema['required'])
  return Object.entries(properties(schema)).map(([name, field]) => ({
    name,
    schema: field,
    required: required.includes(name) ? 'yes' : '',
  }))
}

/** The fields of all alternatives, each once: a name that means different things in two of them is an error. */
function joined(alternatives: Json[]): Field[] {
  const objects = alternatives.filter(isJsonObject)
  const byName = new Map<string, { field: Field; within: JsonObject }[]>()
  for (const within of objects) {
    for (const field of ownFields(within)) {
      byName.set(field.name, [...(byName.get(field.name) ?? []), { field, within }])
    }
  }
  const needed = [...byName].filter(
    ([, found]) => found.length === 1 && found[0]?.field.required === 'yes',
  )
  return [...byName].map(([name, found]): Field => {
    const [first] = found
    if (!first) throw new Error(`${name} is in no alternative`)
    const consts = found.map(({ field }) => field.schema['const'])
    const isTag = found.length === objects.length && consts.every((value) => value !== undefined)
    const schema: JsonObject = isTag
      ? {
          type: 'string',
          enum: consts as Json[],
          description: first.field.schema['description'] ?? '',
        }
      : first.field.schema
    return { name, schema, required: requiredIn(found, objects, needed) }
  })
}

function requiredIn(
  found: { field: Field; within: JsonObject }[],
  alternatives: JsonObject[],
  needed: [string, unknown][],
): string {
  const isRequired = found.every(({ field }) => field.required === 'yes')
  if (found.length === alternatives.length) return isRequired ? 'yes' : ''
  const having = found.map(({ within }) => within)
  const withTag = taggedBy(having)
  const without = taggedBy(alternatives.filter((one) => !having.includes(one)))
  if (withTag && isRequired) return `with ${withTag}`
  if (withTag && having.length * 2 > alternatives.length) return `not with ${without}`
  if (withTag) return `only with ${withTag}, not required`
  return isRequired ? `one of ${codes(needed.map(([name]) => name))}` : ''
}

/**
 * The field that tells these alternatives from the others, with its values: "`kind` `event` or `manual`"; '' if there is none.
 */
function taggedBy(alternatives: JsonObject[]): string {
  const tags = alternatives.map((one) =>
    Object.entries(properties(one)).find(([, field]) => field['const'] !== undefined),
  )
  const names = tags.flatMap((tag) => (tag ? [code(String(tag[1]['const']))] : []))
  return tags[0] ? `${code(tags[0][0])} ${joinedByOr(names)}` : ''
}

function typeOf(schema: JsonObject): string {
  const ref = schema['$ref']
  if (typeof ref === 'string') return linked[ref] ?? code(ref)
  const among = schema['enum']
  if (Array.isArray(among)) {
    if (among.length > CHOICES_SHOWN) return 'one of the names below'
    return joinedByOr(among.map((name) => code(String(name))))
  }
  if (schema['const'] !== undefined) return code(String(schema['const']))
  const alternatives = list(schema['anyOf'] ?? schema['oneOf']).filter(isJsonObject)
  if (alternatives.length > 0) return anyOf([...new Set(alternatives.map(typeOf))])
  const types = schema['type']
  if (Array.isArray(types)) return anyOf(types.map((type) => plain[String(type)] ?? ''))
  if (schema['type'] === 'array') {
    const items = schema['items']
    return isJsonObject(items) ? `list of ${many(typeOf(items))}` : 'list'
  }
  return plain[String(schema['type'])] ?? 'any JSON'
}

function joinedByOr(names: string[]): string {
  const last = names.at(-1) ?? ''
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} or ${last}`
}

const CHOICES_SHOWN = 8

const plainValues = ['text', 'number', '`true` or `false`', '`null`']
const PLAIN_VALUE = 'plain value'

function anyOf(types: string[]): string {
  return types.join() === plainValues.join() ? PLAIN_VALUE : joinedByOr(types)
}

const plain: Record<string, string> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: '`true` or `false`',
  object: 'object',
  null: '`null`',
}

const plurals: Record<string, string> = {
  text: 'texts',
  object: 'objects',
  [PLAIN_VALUE]: 'plain values',
  '[condition](#conditions)': '[conditions](#conditions)',
}

const many = (type: string): string => plurals[type] ?? type

function properties(schema: JsonObject): Record<string, JsonObject> {
  const found = schema['properties']
  if (!isJsonObject(found)) return {}
  return Object.fromEntries(
    Object.entries(found).map(([name, field]) => [name, isJsonObject(field) ? field : {}]),
  )
}

const list = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : [])
