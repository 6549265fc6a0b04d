// Names that no other test file of the run uses.
let serial = 0

export function uniqueName(prefix: string): string {
  serial += 1
  return `${prefix}-${process.pid}-${serial}`
}
