// A separate Temporal namespace for each test file, so that its executions, task queues and lists are its own.
import { inject } from 'vitest'
import { createNamespace } from '../../dev/servers/temporal.ts'
import { uniqueName } from './unique.ts'

export interface TestNamespace {
  address: string
  namespace: string
}

/** Registers a namespace with the search attributes on the run's server. It is ready about 150 ms later. */
export async function createTestNamespace(): Promise<TestNamespace> {
  const address = inject('temporalAddress')
  const namespace = uniqueName('ns')
  await createNamespace(address, namespace)
  return { address, namespace }
}
