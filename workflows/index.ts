// Every workflow function that a worker offers.
export { deliveryLane } from './deliveryLane.ts'
export { releaseHeld } from './releaseHeld.ts'
export { runExecution } from './runExecution.ts'
export { runJob } from './runJob.ts'
export { runSchedule } from './runSchedule.ts'
export { verifyDomain } from './verifyDomain.ts'
