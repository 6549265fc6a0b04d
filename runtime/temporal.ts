// Prepares a Temporal namespace: registers the search attributes and waits until the server lists them.
import { Connection } from '@temporalio/client'
import proto from '@temporalio/proto'
import { searchAttributes } from '../rules/wire.ts'

const { INDEXED_VALUE_TYPE_KEYWORD, INDEXED_VALUE_TYPE_DATETIME } =
  proto.temporal.api.enums.v1.IndexedValueType

const attributeTypes = {
  [searchAttributes.workspace]: INDEXED_VALUE_TYPE_KEYWORD,
  [searchAttributes.workflow]: INDEXED_VALUE_TYPE_KEYWORD,
  [searchAttributes.contact]: INDEXED_VALUE_TYPE_KEYWORD,
  [searchAttributes.waitUntil]: INDEXED_VALUE_TYPE_DATETIME,
}

const PREPARE_DEADLINE_MS = 30_000
const POLL_MS = 100

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Registers missing search attributes over an open connection and waits until the namespace lists them, 30 s at
 * most.
 */
export async function registerSearchAttributes(
  connection: Pick<Connection, 'operatorService'>,
  namespace: string,
): Promise<void> {
  const deadline = Date.now() + PREPARE_DEADLINE_MS
  for (;;) {
    try {
      const listed = await connection.operatorService.listSearchAttributes({ namespace })
      const missing = Object.entries(attributeTypes).filter(
        ([name]) => listed.customAttributes?.[name] === undefined,
      )
      if (missing.length === 0) return
      await connection.operatorService.addSearchAttributes({
        namespace,
        searchAttributes: Object.fromEntries(missing),
      })
    } catch (err) {
      if (Date.now() > deadline) throw err
    }
    if (Date.now() > deadline) {
      throw new Error(`Search attributes of namespace ${namespace} are not listed after 30 s`)
    }
    await pause(POLL_MS)
  }
}

/** Like `registerSearchAttributes`, over a connection that it opens and closes. */
export async function prepareTemporal(address: string, namespace: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: '10s' })
  try {
    await registerSearchAttributes(connection, namespace)
  } finally {
    await connection.close()
  }
}
