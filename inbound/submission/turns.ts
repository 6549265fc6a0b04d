// Gives other work of the process its turn between the steps in which a large message is read.
import { endSlice } from '../../mail/slices.ts'
import { MEBIBYTE } from '../../rules/limits.ts'

/** Does one step of reading a message, or a part of one. After one of a large message (over 1 MiB) other work of the process has its turn. */
export async function endingTurn<T>({ length }: Buffer, work: () => T): Promise<T> {
  if (length <= MEBIBYTE) return work()
  const [began, done] = [performance.now(), work()]
  await endSlice(began, length)
  return done
}
