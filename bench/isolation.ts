// Figures: what one customer notices while another attacks the service in every known way at once.
import { findAllocator } from '../dev/servers/allocator.ts'
import { isolationBars as bars } from './isolationBars.ts'
import { isolationFaults } from './isolationFaults.ts'
import { runIsolation } from './isolationRun.ts'
import { describePostgres, opensslSigns } from './machine.ts'
import { startRemote } from './remote.ts'
import { type Bench, type Figure, figure } from './report.ts'
import { type Servers, withServers } from './servers.ts'
import type { TemplateRates } from './templateRates.ts'

/** Emails, and events, of the customer each second. */
const PER_SECOND = 100

export const isolation: Bench = (options) =>
  withServers(options.say, async (servers) => {
    const { quick, say } = options
    const rates = await templateRates(servers, quick ? 2 : 10)
    say(`templates a second: ${JSON.stringify(rates)}`)
    const seconds = options.seconds ?? (quick ? 10 : 60)
    const perSecond = options.count ?? PER_SECOND
    say(`${perSecond} emails and events a second`)
    const machine = describeMachine(say)
    const rest_seconds = quick ? 10 : 300
    const run = await runIsolation(servers, { seconds, perSecond, rest_seconds, say })
    const { alone, attacked, memory, attacks } = run
    const faults = isolationFaults(run)
    if (faults.length > 0) {
      say(`what was seen: ${JSON.stringify({ alone, attacked, memory, attacks })}`)
      throw new Error(`the customer was harmed:\n${faults.join('\n')}`)
    }

    const held = (what: string, value: number, bar: number, unit: string): Figure =>
      figure(what, [{ subject: value, reference: bar }], unit, { at_most: 1 })
    const grown = ({ before, after }: { before: number; after: number }) =>
      Math.max(0, after - before)
    return {
      reference:
        'the limits that are promised to a customer while another one attacks in every known way at once; the same ' +
        'load alone stands among the further measurements; all processes from a production build',
      rounds: 1,
      figures: [
        held('emails, 99th percentile', attacked.emails.p99_ms, bars.answer_ms, 'ms'),
        held('events, 99th percentile', attacked.events.p99_ms, bars.answer_ms, 'ms'),
        held('slowest delivery', attacked.delivered.max_ms, bars.delivered_ms, 'ms'),
        held('event loop of the API, 99.9 %', attacked.api.delay_p999_ms, bars.delay_ms, 'ms'),
        held(
          'event loop of the worker, 99.9 %',
          attacked.worker.delay_p999_ms,
          bars.delay_ms,
          'ms',
        ),
        held('peak of the API', attacked.api.peak_mb, bars.memory_mb, 'MB'),
        held('peak of the worker', attacked.worker.peak_mb, bars.memory_mb, 'MB'),
        held('API after a rest, over before', grown(memory.api), bars.grown_mb, 'MB'),
        held('worker after a rest, over before', grown(memory.worker), bars.grown_mb, 'MB'),
        atLeast('templates rendered in place', rates.cheap, bars.cheap_per_second),
        atLeast('templates rendered in threads', rates.guarded, bars.guarded_per_second),
      ],
      further: {
        alone: JSON.stringify(alone),
        attacked: JSON.stringify(attacked),
        attacks: JSON.stringify(attacks),
        attackers_cpu_s: run.attackers_cpu_s,
        per_second: perSecond,
        ...machine,
        memory: JSON.stringify(memory),
      },
      postgres: await describePostgres(run.databaseUrl),
      temporal: run.temporal,
    }
  })

/** Says what the figures also depend on, and what to do where API and worker have another malloc than in the image. */
function describeMachine(say: (line: string) => void) {
  const signs = opensslSigns(1)
  say(`openssl signs ${signs} times a second on one core`)
  const { name, advice } = findAllocator()
  say(`malloc of API and worker: ${name}`)
  if (advice) say(advice)
  return { rsa_signatures_per_second_of_one_core: signs, allocator: name }
}

function atLeast(what: string, value: number, bar: number): Figure {
  return figure(what, [{ subject: value, reference: bar }], 'a second', { at_least: 1 })
}

async function templateRates(servers: Servers, seconds: number) {
  const process = startRemote<TemplateRates>('./templateRates.ts')
  servers.add(() => process.stop())
  return process.call('run', { seconds })
}
