// What bench/start.mjs runs for npm run bench -- <name>: measures one figure of docs/figures.md and prints it as one JSON document.
import { parseArgs } from 'node:util'
import { killAllChildren } from '../dev/processes/processes.ts'
import { describeMachine } from './machine.ts'
import type { Bench, BenchOptions, Figure, Report } from './report.ts'

/** Loaded on demand, so that one figure does not load the code of the others. */
const benches: Record<string, () => Promise<Bench>> = {
  events: async () => (await import('./events.ts')).events,
  automation: async () => (await import('./automation.ts')).automation,
  emails: async () => (await import('./emails.ts')).emails,
  submission: async () => (await import('./submission.ts')).submission,
  webhooks: async () => (await import('./webhooks.ts')).webhooks,
  lists: async () => (await import('./lists.ts')).lists,
  smtp: async () => (await import('./smtp.ts')).smtp,
  memory: async () => (await import('./memory.ts')).memory,
  fairness: async () => (await import('./fairness.ts')).fairness,
  batch: async () => (await import('./batch.ts')).batch,
  claims: async () => (await import('./claims.ts')).claims,
  schedule: async () => (await import('./schedule.ts')).schedule,
  stats: async () => (await import('./stats.ts')).stats,
  isolation: async () => (await import('./isolation.ts')).isolation,
}

const USAGE = `Usage: npm run bench -- <${Object.keys(benches).join('|')}> [options]
  --quick              small sizes: shows that it works, measures little
  --rounds N           interleaved rounds (5)
  --seconds N          length of one measurement (events, emails, batch, submission, isolation, claims, fairness, webhooks)
  --count N            operations of one measurement (automation, smtp, memory, webhooks); emails and events a second (isolation);
                       scheduled deliveries that are due in one second (schedule)
  --rows N             rows of each list (lists), or deliveries (claims, fairness, schedule); 1000000
                       events that were counted (stats); 10000000
                       endpoints at which nobody answers (webhooks); 10000
  --temporal server    the real server on Postgres, built once with Go (automation; the default)
  --temporal dev       the development server of the Temporal CLI instead
BENCH_NODE=/path/to/node takes that Node instead of one of the image's line, which is fetched once.
Progress goes to stderr, one JSON document to stdout. Exit code 1: a figure misses its bar; 3: nothing could be measured.
`

function fail(text: string): never {
  process.stderr.write(`${text}\n${USAGE}`)
  process.exit(2)
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        count: { type: 'string' },
        rows: { type: 'string' },
        temporal: { type: 'string' },
      },
    })
  } catch (err) {
    return fail(err instanceof Error ? err.message : String(err))
  }
}

function positive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  return Number.isInteger(value) && value > 0 ? value : fail(`--${name} must be a whole number`)
}

const { values, positionals } = readArguments()
const [name = ''] = positionals
const load = benches[name]
if (!load || positionals.length > 1) fail(name ? `No benchmark ${positionals.join(' ')}` : '')
const temporal = values.temporal ?? 'server'
if (temporal !== 'server' && temporal !== 'dev') fail('--temporal must be server or dev')

const begin = Date.now()
const options: BenchOptions = {
  quick: values.quick,
  rounds: positive('rounds', values.rounds),
  seconds: positive('seconds', values.seconds),
  count: positive('count', values.count),
  rows: positive('rows', values.rows),
  temporal,
  say(line) {
    const seconds = ((Date.now() - begin) / 1000).toFixed(1).padStart(6)
    process.stderr.write(`${seconds} s  ${line}\n`)
  },
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void killAllChildren().then(() => process.exit(130)))
}

try {
  const bench = await load()
  const { figures, further, reference, rounds, postgres, temporal: server } = await bench(options)
  const [{ what: _, ...head }] = figures
  const passed = figures.every((one) => one.passed)
  const report: Report = {
    name,
    machine: describeMachine({ postgres, temporal: server }),
    reference,
    ...head,
    rounds,
    passed,
    ...(figures.length > 1 ? { figures } : {}),
    ...(further ? { further } : {}),
  }
  for (const one of figures) options.say(summary(one))
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
  process.exitCode = passed ? 0 : 1
} catch (err) {
  process.stderr.write(`${err instanceof Error ? (err.stack ?? err.message) : String(err)}\n`)
  process.exitCode = 3
}

function summary({ what, subject, reference_figures, ratio, bar, passed }: Figure): string {
  const [word, limit] = Object.entries(bar)[0] ?? []
  const verdict = `${passed ? 'keeps' : 'MISSES'} ${word?.replace('_', ' ')} ${limit}`
  const { unit } = subject
  return `${what}: ${subject.median} against ${reference_figures.median} ${unit}, ratio ${ratio.median} (${verdict})`
}
