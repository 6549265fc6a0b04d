// What ends a process at its start, in the words of its operator: what failed, which variable to look at, and what to do.
import { inspect } from 'node:util'
import { SecretError } from './secrets.ts'

/** A fault that an operator can mend. The message says what failed, `hint` what to look at and what to do. */
export class StartError extends Error {
  override name = 'StartError'
  readonly hint: string

  constructor(message: string, hint: string, options?: ErrorOptions) {
    super(message, options)
    this.hint = hint
  }
}

/** The message of an error. One that stands for several, such as that of a host with two addresses, has none of its own. */
export function textOf(err: unknown): string {
  if (err instanceof AggregateError && err.message === '') {
    return [...new Set(err.errors.map(textOf))].join(', ')
  }
  return err instanceof Error ? err.message : String(err)
}

/** Whether an error says that Postgres cannot be used; `isUnusable` of db/failures.ts, which this room does not import. */
type IsUnusable = (err: unknown) => boolean

/** The fault as an operator can mend it; undefined: it is none of those that are known. */
function known(err: unknown, isUnusable: IsUnusable): StartError | undefined {
  if (err instanceof StartError) return err
  if (err instanceof SecretError) {
    return new StartError(
      'SECRET_KEY does not open what Postgres holds: it was encrypted with another one.',
      'Set SECRET_KEY to the value that all processes have. Was it changed? List the value of before in SECRET_KEY_PREVIOUS; ' +
        'docs/operating.md says how to change it.',
    )
  }
  if (!isUnusable(err)) return undefined
  return new StartError(
    `Postgres cannot be used: ${textOf(err)}`,
    'Check the host, the user, the password and the database in DATABASE_URL, and that Postgres answers there; then start this again.',
  )
}

/** The lines that say it. A fault that is not known has its stack, for whoever mends the code. */
export function faultLines(err: unknown, isUnusable: IsUnusable): string {
  const fault = known(err, isUnusable)
  return fault ? `${fault.message}\n${fault.hint}\n` : `${inspect(err)}\n`
}

/**
 * From here on whatever is thrown and caught by nobody ends this process with these lines and exit code 1, until `over`.
 * @returns `fail`, which ends it so with an error that was caught, and after `over` does nothing; and `over`, for when the process has
 * started
 */
export function watchStart(isUnusable: IsUnusable): {
  fail: (err: unknown) => void
  over: () => void
} {
  let isOver = false
  const fail = (err: unknown) => {
    if (isOver) return
    process.stderr.write(faultLines(err, isUnusable))
    process.exit(1)
  }
  process.on('uncaughtException', fail)
  const over = () => {
    isOver = true
    process.off('uncaughtException', fail)
  }
  return { fail, over }
}

/**
 * Opens a port.
 * @param variables the names of the variables that say where
 * @throws StartError when the system refuses it
 */
export async function openPort<T>(
  variables: { host: string; port: string },
  at: { host: string; port: number },
  open: () => Promise<T>,
): Promise<T> {
  try {
    return await open()
  } catch (err) {
    const { code, syscall } = err as NodeJS.ErrnoException
    if (syscall === undefined || code === undefined) throw err
    const said = `${variables.port} is ${at.port} and ${variables.host} is ${at.host}, and nothing can listen there: ${textOf(err)}`
    throw new StartError(said, portHint(code, variables), { cause: err })
  }
}

function portHint(code: string, { host, port }: { host: string; port: string }): string {
  if (code === 'EADDRINUSE')
    return `Set ${port} to a port that nothing uses, or stop what uses this one.`
  if (code === 'EACCES')
    return `Set ${port} to a port that this user may open (1024 or more), or give it the right to.`
  return `Set ${host} to an address of this machine: 127.0.0.1, or 0.0.0.0 for all of them.`
}
