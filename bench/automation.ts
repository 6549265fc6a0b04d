// Figures: executions per second against hand-written workflow functions, and what an event and a change of a contact cost.
import { Connection } from '@temporalio/client'
import { measureCosts } from './automationCosts.ts'
import { type Scenario, scenarios } from './automationScenarios.ts'
import { checkSameRows, complete, type Machinery, startSide } from './automationSides.ts'
import { measureFirstMail } from './firstMail.ts'
import { describePostgres } from './machine.ts'
import { type Bench, type BenchOptions, type Figure, figure } from './report.ts'
import { interleave } from './rounds.ts'
import { withServers } from './servers.ts'
import { startBenchTemporal } from './temporal.ts'

export const automation: Bench = (options) =>
  withServers(options.say, async (servers) => {
    const { say, quick } = options
    const rounds = options.rounds ?? (quick ? 2 : 9)
    const postgres = await servers.postgres({ durable: true })
    const costs = await measureCosts(servers, postgres, options)
    const temporal = await startBenchTemporal(servers, postgres, options)
    say(`Temporal: ${temporal.description}`)
    const connection = await Connection.connect({
      address: temporal.address,
      connectTimeout: '60 s',
    })
    servers.add(() => connection.close())
    const machinery = { servers, postgres, connection, temporalAddress: temporal.address }
    const figures: Figure[] = []
    for (const scenario of scenarios) {
      figures.push(await measure(machinery, scenario, { ...options, rounds }))
    }
    figures.push(await measureFirstMail(machinery, options))
    const [first, ...others] = figures
    if (!first) throw new Error('there is no scenario')
    return {
      reference:
        'a hand-written workflow function with one plain activity for each email, each writing the same rows with the ' +
        'same functions (emails, deliveries, email_events, automation_events, execution_steps, the last state), ' +
        'in a worker process with the same settings, starter and outbox; own database and namespace on the same ' +
        'servers; executions are decided in one commit, and the time runs from it until Temporal shows all of them ' +
        'completed; the delivery role is off on both sides; the other worker is idle',
      rounds,
      figures: [first, ...others, ...costs.figures],
      further: costs.further,
      postgres: await describePostgres(postgres.url),
      temporal: temporal.description,
    }
  })

async function measure(
  machinery: Machinery,
  scenario: Scenario,
  { say, quick, count = quick ? 20 : 240, rounds = 1 }: BenchOptions,
): Promise<Figure> {
  const { connection } = machinery
  const ours = await startSide(machinery, scenario, true)
  const plain = await startSide(machinery, scenario, false)
  say(`${scenario.what}: ${rounds} rounds of ${count} executions a side, after a warm-up`)
  const warmUp = Math.ceil(count / 10)
  await complete(connection, ours, warmUp)
  await complete(connection, plain, warmUp)
  const pairs = await interleave({
    rounds,
    unit: 'executions/s',
    subject: () => complete(connection, ours, count),
    reference: () => complete(connection, plain, count),
    say,
  })
  await checkSameRows(ours, plain)
  await Promise.all([ours.stop(), plain.stop()])
  return figure(scenario.what, pairs, 'executions/s', { at_least: scenario.atLeast })
}
