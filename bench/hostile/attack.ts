// What an attack is: some loops that go on until they are stopped, and a count of what came of them.

/** What every attack knows of its victim: the service, and the keys and things of the attacking workspace. */
export interface Target {
  port: number
  /** Full access to the attacking workspace. */
  key: string
  /** Sends from this address. */
  from: string
  databaseUrl: string
  workspaceId: string
  /** The event that starts executions whose mail has a hostile template. */
  hostileEvent: string
}

/** Adds one to the count of an outcome, such as a status. */
export type Count = (outcome: string | number) => void

/** Goes on until `stop` is aborted, and has left nothing open then. */
export type Attack = (target: Target, count: Count, stop: AbortSignal) => Promise<void>

/** Runs `turn` again and again in so many loops. */
export async function inLoops(
  loops: number,
  stop: AbortSignal,
  turn: (serial: number) => Promise<void>,
): Promise<void> {
  let serial = 0
  await Promise.all(
    Array.from({ length: loops }, async () => {
      while (!stop.aborted) await turn(serial++)
    }),
  )
}
