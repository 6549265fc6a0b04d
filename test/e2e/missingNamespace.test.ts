// A worker whose namespace Temporal does not have: it says so at once, and works as soon as there is one.
import { expect, inject, test } from 'vitest'
import { createNamespace } from '../../dev/servers/temporal.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { startWorker } from '../setup/processes.ts'
import { uniqueName } from '../setup/unique.ts'

const database = await createTestDatabase()

test('a namespace that is not there is named in the log within seconds, and waited for', async () => {
  const temporalAddress = inject('temporalAddress')
  const temporalNamespace = uniqueName('ns')
  const worker = await startWorker({
    ...{ databaseUrl: database.url, temporalAddress, temporalNamespace },
    smtpUrl: 'smtp://127.0.0.1:25',
    ready: false,
  })
  await eventually(() => {
    const lines = worker.log(50).split('\n')
    const said = lines.find((line) => line.includes('Temporal has no such namespace'))
    expect(JSON.parse(said ?? '{}')).toMatchObject({
      namespace: temporalNamespace,
      address: temporalAddress,
    })
  })
  expect(worker.log(50)).not.toContain('Temporal is not there yet')
  await createNamespace(temporalAddress, temporalNamespace)
  await eventually(async () => expect((await fetch(`${worker.url}/readyz`)).status).toBe(200))
})
