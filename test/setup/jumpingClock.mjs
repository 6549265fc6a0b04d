// Loaded into a process before its own code: on SIGUSR2 the clock of the machine seems to jump by CLOCK_JUMP_MS.
const Machine = Date
let jumped_ms = 0
process.on('SIGUSR2', () => {
  jumped_ms = Number(process.env.CLOCK_JUMP_MS)
})

globalThis.Date = class extends Machine {
  constructor(...given) {
    if (given.length > 0) super(...given)
    else super(Machine.now() + jumped_ms)
  }
  static now() {
    return Machine.now() + jumped_ms
  }
}
