// Asks the running service for the examples of its interface description, by the samples as they are printed.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import type { createHarness } from './harness.ts'

type Harness = Awaited<ReturnType<typeof createHarness>>

export type SampleLabel = 'curl' | 'TypeScript'

interface Described {
  responses: Record<string, { content?: Record<string, { example?: unknown }> }>
  'x-codeSamples': { label: string; source: string }[]
}

/** An operation with what the description shows of it. */
export interface Example {
  /** `GET /v1/emails/{id}` */
  name: string
  /** Those of a success: one, or 200 and 201 where the answer tells whether something is new. */
  statuses: number[]
  samples: Record<SampleLabel, string>
  /** undefined where the answer has no body. */
  answer: unknown
}

export async function readExamples(url: string): Promise<Map<string, Example>> {
  const document = (await (await fetch(`${url}/v1/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Described>>
  }
  const examples = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]): Example => {
      const successes = Object.entries(described.responses).filter(([one]) => one.startsWith('2'))
      const sample = (label: SampleLabel) =>
        described['x-codeSamples'].find((one) => one.label === label)?.source ?? ''
      return {
        name: `${method.toUpperCase()} ${path}`,
        statuses: successes.map(([status]) => Number(status)),
        samples: { curl: sample('curl'), TypeScript: sample('TypeScript') },
        answer: successes[0]?.[1].content?.['application/json']?.example,
      }
    }),
  )
  return new Map(examples.map((example) => [example.name, example]))
}

/** Runs a sample with a key. @returns the status and the parsed body, undefined where there is none */
export async function runSample(
  label: SampleLabel,
  source: string,
  key: string,
): Promise<{ status: number; body: unknown }> {
  return label === 'curl' ? await runCurl(source, key) : await runTypescript(source, key)
}

async function runCurl(source: string, key: string) {
  const env = { ...process.env, DRIPLINE_API_KEY: key }
  const script = `${source} --silent --show-error --write-out '\\n%{http_code}'`
  const { stdout } = await promisify(execFile)('sh', ['-c', script], { env })
  const at = stdout.lastIndexOf('\n')
  const text = stdout.slice(0, at)
  // A file of CSV has no example.
  const isJson = /^[[{]/.test(text)
  return { status: Number(stdout.slice(at + 1)), body: isJson ? JSON.parse(text) : undefined }
}

async function runTypescript(source: string, key: string) {
  const answer = source.includes('const answer') ? 'answer' : 'undefined'
  const known = source.replace('process.env.DRIPLINE_API_KEY', JSON.stringify(key))
  const code = `${known}\nexport const status = response.status\nexport const body = ${answer}\n//${Math.random()}`
  return (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    status: number
    body: unknown
  }
}

const ID = /^([a-z]{2,4})_[0-9A-HJKMNP-TV-Z]{26}$/
const TIME_MIN = 1_600_000_000_000
const TIME_MAX = 2_000_000_000_000
const SELECTOR = /drip-[a-z0-9]{10}/g

/** Texts and durations that are other ones each time, told by the name of their key. */
const VOLATILE =
  /^(cursor|public_key|token|signing_secret|prefix|host|profile_picture|ip|user_agent|schedule_name|address|at_ms|serial|processing_time_millis)$/

/**
 * Compares an answer with its example: the same keys, and the same values but for ids, times and keys. What an id of
 * the examples is here is kept in `ids`; the same one must be the same everywhere.
 * @returns the answer with the examples' own ids, to be compared with the example by `toEqual`
 */
export function asExample(actual: unknown, example: unknown, ids: Map<string, string>): unknown {
  if (Array.isArray(actual) && Array.isArray(example)) {
    return actual.map((value, i) => asExample(value, example[i], ids))
  }
  if (isObject(actual) && isObject(example)) {
    const entries = Object.entries(actual).map(([here, value]) => {
      const key = keyAsExample(here, example)
      const shown = example[key]
      const isVolatile = VOLATILE.test(key) && typeof value === typeof shown && value !== ''
      return [key, isVolatile ? shown : asExample(value, shown, ids)]
    })
    return Object.fromEntries(entries)
  }
  if (isTime(actual) && isTime(example)) return example
  if (typeof actual === 'string' && typeof example === 'string') {
    return textAsExample(actual, example, ids)
  }
  return actual
}

/** Keys of an answer are as they are, but for the selectors of DKIM keys. */
function keyAsExample(key: string, example: object): string {
  if (key.search(SELECTOR) !== 0) return key
  return Object.keys(example).find((one) => one.search(SELECTOR) === 0) ?? key
}

function textAsExample(actual: string, example: string, ids: Map<string, string>): string {
  const [here, shown] = [ID.exec(actual), ID.exec(example)]
  if (here && shown && here[1] === shown[1]) {
    if (!ids.has(example)) ids.set(example, actual)
    return ids.get(example) === actual ? example : actual
  }
  if (!Number.isNaN(Date.parse(actual)) && /^\d{4}-\d\d-\d\dT/.test(example)) return example
  // Keys of DKIM, long and random; and ids within paths, names and texts.
  const plain = (text: string) =>
    text
      .replaceAll(/p=[A-Za-z0-9+/=]{40,}/g, 'p=…')
      .replaceAll(/[a-z]{2,4}_[0-9A-HJKMNP-TV-Z]{26}/g, '…')
      .replaceAll(SELECTOR, '…')
      // Of SMTP: the return path (a number and a MAC), sizes, and what the test's mail server says of its machine.
      .replaceAll(/b\+\d+\.[a-z0-9]+@/g, '…@')
      .replaceAll(/SIZE=\d+|<\d+ bytes>|\[\d+(\.\d+){3}\]/g, '…')
      .replaceAll(/^220 \S+ ESMTP$|^250-\S+ Nice/g, '…')
      .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, '…')
  return plain(actual) === plain(example) ? example : actual
}

const isTime = (value: unknown): boolean =>
  typeof value === 'number' && value > TIME_MIN && value < TIME_MAX

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** An operation of a story, and what has to be true before it is asked and is not so by the ones before it. */
export interface Step {
  name: string
  before?: (h: Harness, ids: ReadonlyMap<string, string>) => Promise<void>
}

/** Asks for the operations in order: each finds what its example speaks of. */
export async function tellStory(
  h: Harness,
  label: SampleLabel,
  story: readonly Step[],
): Promise<void> {
  const examples = await readExamples(h.api.url)
  const ids = new Map<string, string>()
  for (const { name, before } of story) {
    const example = examples.get(name)
    if (!example) throw new Error(`the description has no ${name}`)
    await before?.(h, ids)
    const { status, body } = await runSample(label, withIds(example.samples[label], ids), h.key)
    const shown = asExample(body, example.answer, ids)
    const said = `${name} by ${label}, with the ids of the examples:\n${JSON.stringify(shown)}`
    expect(example.statuses, `${name} by ${label}: ${JSON.stringify(body)}`).toContain(status)
    // Soft: a soft check, so that one run reports all failures.
    expect.soft(shown, said).toEqual(example.answer)
  }
}

/** A sample with the service's own address and ids in the places of the examples'. */
export function withIds(source: string, ids: ReadonlyMap<string, string>): string {
  return [...ids].reduce((text, [shown, here]) => text.replaceAll(shown, here), source)
}
