// Makes a request of another service, and goes on by what came of it.
import { z } from 'zod'
import { anyJson } from '../conditions/schema.ts'
import { type CheckAt, problemAt } from '../design/context.ts'
import { checkLiquid, checkOneOf, isGiven } from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import { isHttpPort } from '../httpPorts.ts'
import type { HttpCall } from '../interpreterTypes.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { limits } from '../limits.ts'
import { resolveObject } from '../properties/update.ts'
import { secretNamesIn } from '../secretNames.ts'
import { mustBeOneOf, shown, shownText, typeName } from '../shown.ts'
import { always, defineNode, namesNothing, never, noConditions, type Place } from './define.ts'
import { isHeaderName, isLedElsewhere, isOwnHeader, splitUrl } from './httpParts.ts'
import { checkPlaces, createTexts, placesOf } from './madeProperties.ts'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const STORE_AS = new RegExp(`^[A-Za-z0-9_-]{1,${limits.nodeIdCharsMax}}$`)

const data = z.object({
  method: z.enum(methods).describe('The method of the request'),
  url: z
    .string()
    .max(limits.httpUrlCharsMax)
    .describe(
      'http or https. Liquid may stand in its path and its query, where each value is percent-encoded, and not in scheme, ' +
        'host or port',
    ),
  headers: z
    .record(z.string(), z.string().max(limits.httpHeaderCharsMax))
    .describe('Headers by their names; the values are Liquid')
    .exactOptional(),
  body: anyJson
    .describe(
      'A text, which is Liquid, or any other JSON, whose texts are Liquid and in which `{"var": "event.plan"}` stands for ' +
        'the value of that field. Not with GET',
    )
    .exactOptional(),
  timeout_ms: z
    .int()
    .min(1)
    .max(limits.httpTimeoutMsMax)
    .describe('How long one try may take, from looking up the host to the end of the answer')
    .meta({ default: limits.httpTimeoutMs })
    .exactOptional(),
  store_as: z
    .string()
    .regex(STORE_AS)
    .describe('Keeps the answer as `steps.<store_as>`, with `status`, `headers` and `body`')
    .exactOptional(),
})

type HttpRequestData = z.infer<typeof data>

function checkUrl(at: CheckAt): Problem[] {
  const { url } = at.data
  const parts = typeof url === 'string' ? splitUrl(url) : null
  if (typeof url !== 'string' || !parts) {
    const rule = 'an http or https URL whose scheme, host and port have no Liquid and no password'
    return problemAt(at, 'url', 'bad_value', `url must be ${rule}, not ${shown(url)}`)
  }
  const origin = new URL(parts.origin)
  if (!isHttpPort(origin)) {
    const message = `url must not lead to port ${origin.port}, which is another protocol's`
    return problemAt(at, 'url', 'bad_value', message)
  }
  if (url.length > limits.httpUrlCharsMax) {
    const message = `url must not exceed ${limits.httpUrlCharsMax} characters, has ${url.length}`
    return problemAt(at, 'url', 'bad_value', message)
  }
  return checkLiquid(at, 'url')
}

function checkHeaders(at: CheckAt): Problem[] {
  const { headers } = at.data
  if (!isGiven(headers)) return []
  if (!isJsonObject(headers)) {
    const message = `headers must be an object, not ${typeName(headers)}`
    return problemAt(at, 'headers', 'bad_value', message)
  }
  const entries = Object.entries(headers)
  if (entries.length > limits.httpHeadersMax) {
    const message = `headers must not be more than ${limits.httpHeadersMax}, has ${entries.length}`
    return problemAt(at, 'headers', 'too_many', message)
  }
  return entries.flatMap(([name, value]) => {
    const key = `headers.${shownText(name)}`
    const fault = headerFault(name, value)
    if (fault !== null) return problemAt(at, key, 'bad_value', `${key} ${fault}`)
    return checkPlaces(at, key, placesOf(value, key))
  })
}

function headerFault(name: string, value: Json): string | null {
  if (!isHeaderName(name)) return 'is not the name of a header'
  if (isOwnHeader(name)) return 'is a header that the service sets itself'
  if (typeof value !== 'string') return `must be a string, not ${typeName(value)}`
  if (value.length <= limits.httpHeaderCharsMax) return null
  return `must not exceed ${limits.httpHeaderCharsMax} characters, has ${value.length}`
}

function checkBody(at: CheckAt): Problem[] {
  const { body, method } = at.data
  if (!isGiven(body)) return []
  if (method === 'GET') {
    return problemAt(at, 'body', 'bad_value', 'body must be absent: a GET request has none')
  }
  return checkPlaces(at, 'body', placesOf(body, 'body'))
}

function checkTimeout(at: CheckAt): Problem[] {
  const { timeout_ms } = at.data
  const isWhole = typeof timeout_ms === 'number' && Number.isInteger(timeout_ms)
  if (!isGiven(timeout_ms)) return []
  if (isWhole && timeout_ms >= 1 && timeout_ms <= limits.httpTimeoutMsMax) return []
  const range = `from 1 to ${limits.httpTimeoutMsMax}`
  const message = `timeout_ms must be a whole number of milliseconds ${range}, not ${shown(timeout_ms)}`
  return problemAt(at, 'timeout_ms', 'bad_value', message)
}

function checkStoreAs(at: CheckAt): Problem[] {
  const { store_as } = at.data
  if (!isGiven(store_as) || (typeof store_as === 'string' && STORE_AS.test(store_as))) return []
  const rule = `1-${limits.nodeIdCharsMax} letters, digits, _ or -`
  return problemAt(at, 'store_as', 'bad_value', `store_as must be ${rule}, not ${shown(store_as)}`)
}

function checkSecrets(at: CheckAt): Problem[] {
  const { secrets } = at.context
  if (!secrets) return []
  return secretNamesIn(at.data)
    .filter((name) => !secrets.has(name))
    .flatMap((name) =>
      problemAt(at, '', 'unknown_secret', `this workspace has no secret ${shown(name)}`),
    )
}

type Made<T> = { ok: true; value: T } | { ok: false; why: string }

/** Renders the texts of one request; the first that does not render is why there is none. */
function makeCall(given: HttpRequestData, place: Place): Made<HttpCall> {
  const texts = createTexts(place)
  const { origin, rest } = splitUrl(given.url) ?? { origin: '', rest: '' }
  const to = texts.render(rest, 'request_url')
  if (isLedElsewhere(to, rest)) return { ok: false, why: 'a value makes the path lead elsewhere' }
  const headers = Object.entries(given.headers ?? {}).map(
    ([name, value]) => [name.toLowerCase(), texts.render(value, 'request_line')] as const,
  )
  const { body, type } = makeBody(given.body, (value) =>
    resolveObject({ value }, place.facts, [], (source) => texts.render(source, 'request_body')),
  )
  const why = texts.why()
  if (why !== null) return { ok: false, why }
  const call = {
    method: given.method,
    url: origin + to,
    headers: { ...(type === null ? {} : { 'content-type': type }), ...Object.fromEntries(headers) },
    body,
    timeout_ms: given.timeout_ms || limits.httpTimeoutMs,
    storeAs: given.store_as || null,
  }
  return { ok: true, value: call }
}

/** A text goes as it is, anything else as JSON. */
function makeBody(
  given: Json | undefined,
  resolve: (value: Json) => JsonObject,
): { body: string | null; type: string | null } {
  if (!isGiven(given)) return { body: null, type: null }
  const { value } = resolve(given)
  if (typeof given !== 'string') {
    return { body: JSON.stringify(value ?? null), type: 'application/json' }
  }
  const body = String(value)
  return { body, type: isJson(body) ? 'application/json' : 'text/plain; charset=utf-8' }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

export const httpRequest = defineNode({
  type: 'http_request',
  summary: 'Makes a request of another service, and goes on by what came of it.',
  data,
  stores: ({ store_as }) => (typeof store_as === 'string' && store_as !== '' ? store_as : null),
  handles: always('success', 'error'),
  handleTexts: {
    success: 'The answer had a status of 2xx',
    error:
      'Any other answer, one that is too long, or none: at once where another try would not help, else after ' +
      `${limits.httpTriesMax} tries`,
  },
  waits: never,
  check: (at) => [
    ...(isGiven(at.data['method'])
      ? checkOneOf(at, 'method', methods)
      : problemAt(at, 'method', 'bad_value', `method ${mustBeOneOf(methods, undefined)}`)),
    ...checkUrl(at),
    ...checkHeaders(at),
    ...checkBody(at),
    ...checkTimeout(at),
    ...checkStoreAs(at),
    ...checkSecrets(at),
  ],
  conditions: noConditions,
  names: namesNothing,
  enter(given, place) {
    const made = makeCall(given, place)
    return made.ok ? { call: made.value, why: null } : { handle: 'error', why: made.why }
  },
})
