// A Temporal namespace of its own for each test file: its executions, task queues and lists are alone.
import { inject } from 'vitest'
import { createNamespace } from '../../dev/temporal.ts'
import { uniqueName } from './unique.ts'

export interface TestNamespace {
  address: string
  namespace: string
}

/** Registered on the run's server with the search attributes; ready some 150 ms later. */
export async function createTestNamespace(): Promise<TestNamespace> {
  const address = inject('temporalAddress')
  const namespace = uniqueName('ns')
  await createNamespace(address, namespace)
  return { address, namespace }
}
