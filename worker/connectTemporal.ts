// Connects a worker to Temporal, and waits until that has what a worker needs.
import { setTimeout as delay } from 'node:timers/promises'
import { isGrpcServiceError } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'
import type { Config } from '../runtime/config.ts'
import type { Log } from '../runtime/log.ts'
import { registerSearchAttributes } from '../runtime/temporal.ts'

const RETRY_MS = 1_000
const GRPC_NOT_FOUND = 5

/**
 * Connects, trying again until Temporal answers and has the namespace with its search attributes.
 * @throws the last error once the signal is aborted
 */
export async function connectTemporal(
  { temporalAddress: address, temporalNamespace: namespace }: Config,
  { log, signal }: { log: Log; signal: AbortSignal },
): Promise<NativeConnection> {
  for (;;) {
    let connection: NativeConnection | undefined
    try {
      connection = await NativeConnection.connect({ address })
      // Registering waits for a namespace that is being made. That there is none is said before.
      await connection.workflowService.describeNamespace({ namespace })
      await registerSearchAttributes(connection, namespace)
      return connection
    } catch (err) {
      await connection?.close()
      if (signal.aborted) throw err
      if (isGrpcServiceError(err) && err.code === GRPC_NOT_FOUND) {
        log.warn(
          { namespace, address },
          'Temporal has no such namespace: make it, or correct TEMPORAL_NAMESPACE; trying again',
        )
      } else log.warn({ err, address }, 'Temporal is not there yet; trying again')
      await delay(RETRY_MS)
    }
  }
}
