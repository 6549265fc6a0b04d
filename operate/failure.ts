// What a command says when it fails: what could not be done, why, and what to do.
import { isUnusable } from '../db/failures.ts'
import { faultLines } from '../runtime/startFaults.ts'

/** Prints it; the exit code will be 1. A fault that is not known has its stack. */
export function sayFailure(what: string, err: unknown): void {
  process.stderr.write(`${what} ${faultLines(err, isUnusable)}`)
  process.exitCode = 1
}
