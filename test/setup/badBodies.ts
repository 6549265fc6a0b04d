// Makes bodies with one fault each, from a valid body and its schema.
import type { Json, JsonObject } from '../../rules/json.ts'
import { limits } from '../../rules/limits.ts'
import { type Schema, typesOf } from './openapi.ts'

export interface BadBody {
  /** `properties: too deep` */
  what: string
  /** The wrong field at the top level; '' if the body itself is wrong. */
  field: string
  /** The body's text. */
  text: string
}

/** A placeholder for JSON text that no JavaScript value gives. */
const raw = (json: string) => `@raw:${json}@`
const write = (value: unknown) =>
  JSON.stringify(value).replace(/"@raw:((?:[^"\\]|\\.)*)@"/g, (_, json: string) =>
    JSON.parse(`"${json}"`),
  )

const LONG = 200_000
const nested = (levels: number) => raw(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`)

const samples: Record<string, Json> = {
  string: 'text',
  integer: 12,
  boolean: true,
  object: { a: 1 },
  array: [1],
}

/** Texts that Postgres cannot store. */
const unstorable: [string, Json][] = [
  ['NUL', 'a\0b'],
  ['lone surrogate', 'a\ud800b'],
]

/** JSON data that cannot be stored. */
const badObjects: [string, Json][] = [
  ['NUL inside', { a: [{ b: 'x\0' }] }],
  ['NUL in a key', { a: { 'k\0': 1 } }],
  ['lone surrogate inside', { a: ['\udfff'] }],
  ['lone surrogate in a key', { '\ud800': 1 }],
  ['a number that is none', { a: raw('1e999') }],
  ['a level too deep', nested(limits.jsonDepthMax + 1)],
  ['bottomless', nested(20_000)],
  ['too large', { a: 'x'.repeat(limits.propertiesBytesMax) }],
]

/** Values that the schema of a field, or the general rules for texts and objects, must refuse. */
function badValues(schema: Schema, isRequired: boolean, mayBeLong: boolean): [string, Json][] {
  const types = typesOf(schema)
  const bad: [string, Json][] = Object.entries(samples)
    .filter(([type]) => !types.has(type))
    .map(([type, value]) => [`wrong type ${type}`, value])
  if (isRequired && !types.has('null')) bad.push(['null', null])
  if (types.has('string')) {
    bad.push(...unstorable)
    const max = schema.maxLength ?? LONG
    if (!mayBeLong) bad.push(['too long', 'x'.repeat(max + 1)])
    if (schema.enum || schema.pattern) bad.push(['not one of them', 'N.O/P!E'])
    if (schema.minLength) bad.push(['too short', 'x'.repeat(schema.minLength - 1)])
  }
  if (types.has('integer')) {
    const numbers = [raw('1e999'), raw('-1e999'), 2 ** 53, 1.5, -1, raw('1e308')]
    bad.push(...numbers.map((value): [string, Json] => [`number ${value}`, value]))
  }
  if (types.has('array')) bad.push(['wrong items', [[], null]])
  if (types.has('object') && !schema.properties) {
    const values = schema.additionalProperties
    if (typeof values === 'object' && values.type === 'string') {
      bad.push(['wrong value', { a: 1 }], ['NUL in a value', { a: 'x\0' }])
      bad.push(['NUL in a key', { 'a\0': 'x' }])
    } else bad.push(...badObjects)
  }
  return bad
}

/** Makes the wrong bodies. @param long names of fields without a length limit of their own */
export function badBodies(schema: Schema, valid: JsonObject, long: ReadonlySet<string>): BadBody[] {
  const required = new Set(schema.required)
  const wholes = ['null', '[]', '"text"', '1', 'true'].map((text) => ({
    what: `the body is ${text}`,
    field: '',
    text,
  }))
  const bottomless = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const fields = Object.entries(schema.properties ?? {}).flatMap(([field, one]) => {
    const { [field]: _, ...without } = valid
    const missing = required.has(field)
      ? [{ what: `${field}: missing`, field, text: write(without) }]
      : []
    const values = badValues(one, required.has(field), long.has(field)).map(([what, value]) => ({
      what: `${field}: ${what}`,
      field,
      text: write({ ...without, [field]: value }),
    }))
    return [...missing, ...values, ...badItems(field, one, valid)]
  })
  return [...wholes, { what: 'the body is bottomless', field: '', text: bottomless }, ...fields]
}

/** Like `badBodies`, for each key of the objects in a list (attachments). */
function badItems(field: string, { items }: Schema, valid: JsonObject): BadBody[] {
  const list = valid[field]
  if (!items?.properties || !Array.isArray(list)) return []
  const [first] = list as JsonObject[]
  if (!first) return []
  return badBodies(items, first, new Set(['content']))
    .filter((bad) => bad.field !== '')
    .map(({ what, text }) => ({
      what: `${field}.0.${what}`,
      field,
      text: JSON.stringify({ ...valid, [field]: ['@'] }).replace('"@"', () => text),
    }))
}
