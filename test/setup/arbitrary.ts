// Turns schemas of the interface description into fast-check arbitraries: values that fit and values that almost
// fit.
import fc from 'fast-check'
import type { Json } from '../../rules/json.ts'
import type { Operation, Schema } from './openapi.ts'
import { bodyOf, fillPath } from './routes.ts'
import type { Tenant } from './tenant.ts'

/** Texts that often break software. */
const nasty = fc.constantFrom(
  '',
  ' ',
  '\0',
  '\ud800',
  'a\0b',
  '\r\nBcc: x@y.co',
  '{{ x | y }}',
  '{% if %}',
  '{{ "%00" | url_decode }}',
  '<script>',
  "'; drop table emails; --",
  '__proto__',
  'constructor',
  '\u202e',
  '💥',
  'x'.repeat(300),
  '1e999',
  'null',
)

const text = fc.oneof(nasty, fc.string({ unit: 'binary', maxLength: 40 }), fc.string())
const address = fc.oneof(
  fc.constantFrom(
    'ada@example.test',
    'Ada <ada@example.test>',
    'first@test.test',
    'hello@sender.test',
  ),
  fc.emailAddress(),
  fc.tuple(text, text).map(([local, domain]) => `${local}@${domain}`),
)
const key = fc.oneof(nasty, fc.constantFrom('a', 'b', 'type', 'nodes', 'edges', 'data', 'id'))
const leaf = fc.oneof(text, address, fc.double(), fc.integer(), fc.boolean(), fc.constant(null))
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    leaf as fc.Arbitrary<Json>,
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(key, tie('json'), { maxKeys: 3 }),
  ),
}))

const number = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.constantFrom(0, -1, 1.5, 2 ** 31, 2 ** 53, 1e308, 8.64e15, Date.now()),
)

/** Values that mostly fit the schema. */
function fitting(schema: Schema, name: string): fc.Arbitrary<Json> {
  if (schema.enum) return fc.constantFrom(...(schema.enum as Json[]))
  if (schema.const !== undefined) return fc.constant(schema.const as Json)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((one) => fitting(one, name)))
  const types = [schema.type ?? []].flat()
  const arbitraries = types.map((type): fc.Arbitrary<Json> => {
    switch (type) {
      case 'string':
        return textLike(schema, name)
      case 'integer':
      case 'number':
        return number
      case 'boolean':
        return fc.boolean()
      case 'null':
        return fc.constant(null)
      case 'array': {
        const items = schema.items ? loosely(schema.items, name) : json
        return fc.array(items, { maxLength: 4 })
      }
      default:
        return objectLike(schema)
    }
  })
  return arbitraries.length > 0 ? fc.oneof(...arbitraries) : json
}

function textLike(schema: Schema, name: string): fc.Arbitrary<Json> {
  if (/email|^to$|cc$|from|reply_to/.test(name)) return address
  const own = fc.string({ minLength: schema.minLength ?? 0, maxLength: schema.maxLength ?? 60 })
  const named: Record<string, string[]> = {
    event_name: ['user.signed_up', 'user.activated', 'order/placed', 'email.sent'],
    name: ['mail.example.org', 'Readers', 'x.co.uk'],
    content: ['aGk=', 'a', '===='],
    html: ['<p>Hi</p>', '<a href="{{ unsubscribe_url }}">x</a>'],
  }
  return fc.oneof(fc.constantFrom(...(named[name] ?? ['x'])), own, text)
}

function objectLike({
  properties,
  required = [],
  additionalProperties,
}: Schema): fc.Arbitrary<Json> {
  if (!properties) {
    const values =
      typeof additionalProperties === 'object' ? fitting(additionalProperties, '') : json
    return fc.dictionary(key, values, { maxKeys: 4 })
  }
  const fields = Object.entries(properties).map(
    ([name, one]) => [name, loosely(one, name)] as const,
  )
  return fc.record(Object.fromEntries(fields), {
    requiredKeys: required,
    noNullPrototype: true,
  }) as fc.Arbitrary<Json>
}

/** Sometimes replaces a value by something different. */
const loosely = (schema: Schema, name: string): fc.Arbitrary<Json> =>
  fc.oneof({ arbitrary: fitting(schema, name), weight: 9 }, { arbitrary: json, weight: 1 })

export interface FuzzedRequest {
  operation: Operation
  target: string
  body: string | undefined
}

const broken = fc.constantFrom('', '{', '[', 'nul', '"', '{"a":1}}', '\ufeff{}', '{"a":1e999}')

/** Text without half surrogate pairs, which cannot be percent-encoded. */
const whole = (one: string) => one.replace(/\p{Cs}/gu, '\ufffd')

/** A value for a path or a query, percent-encoded, sometimes wrongly. */
const encoded = fc.oneof(
  text.map((one) => encodeURIComponent(whole(one)).slice(0, 400)),
  address.map((one) => encodeURIComponent(whole(one)).slice(0, 400)),
  fc.constantFrom('%00', '%', '%zz', '%C0%AF', '%ED%A0%80', '..', '%2e%2e', '%2F', '+', '%2525'),
)

/** Requests of an operation: real ids or other texts, queries, and a body that fits, almost fits or is missing. */
export function fuzzedRequests(operation: Operation, tenant: Tenant): fc.Arbitrary<FuzzedRequest> {
  const { parameters, body: schema } = operation
  const sample = bodyOf(operation)
  const around = (value: Json) => (sample && isObject(value) ? { ...sample, ...value } : value)
  const bodies = schema
    ? fc.oneof(
        { arbitrary: fc.constant(JSON.stringify(sample)), weight: 1 },
        { arbitrary: fitting(schema, '').map((value) => JSON.stringify(around(value))), weight: 5 },
        { arbitrary: loosely(schema, '').map((value) => JSON.stringify(value)), weight: 3 },
        { arbitrary: broken, weight: 1 },
      )
    : fc.constant(undefined)
  const places = parameters.map((parameter) => {
    const wild = parameter.schema.enum
      ? fc.oneof(fc.constantFrom(...(parameter.schema.enum as string[])), encoded)
      : encoded
    return fc.oneof(
      { arbitrary: fc.constant(undefined), weight: 6 },
      { arbitrary: wild, weight: 2 },
    )
  })
  return fc.tuple(bodies, ...places).map(([body, ...values]) => {
    const given: Record<string, string> = {}
    const query: string[] = []
    for (const [index, parameter] of parameters.entries()) {
      const value = values[index]
      if (value === undefined) continue
      // An empty segment or one of dots would make the path of another route.
      if (parameter.in === 'path') given[parameter.name] = /^(\.|%2e)*$/i.test(value) ? 'x' : value
      else query.push(`${parameter.name}=${value}`)
    }
    const target =
      fillPath(operation, tenant, given) + (query.length > 0 ? `?${query.join('&')}` : '')
    return { operation, target, body }
  })
}

function isObject(value: Json): value is Record<string, Json> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
