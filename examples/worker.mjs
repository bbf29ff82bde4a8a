// A worker in JavaScript, for one queue:
//
//     npm install pg
//     node worker.mjs postgresql://localhost/shop mail
//
// It runs up to CAPACITY jobs at once, is woken when there is work, and extends the leases of what
// it runs. SIGTERM or Ctrl-C: it ends what it runs and takes no more. When the database goes away
// it ends with an error: let what started it start it again. Its jobs run again by themselves.
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const CAPACITY = 10
const LEASE = 30 // seconds for which a job is held, if nobody extends that
const LOST = ['PB002', 'PB003', 'PB004'] // the job is not this worker's any more

const [dsn, queue] = process.argv.slice(2)
const workerId = `${hostname()}/${process.pid}`
const pool = new pg.Pool({ connectionString: dsn, max: CAPACITY })
const listener = new pg.Client({ connectionString: dsn, keepAlive: true })
const running = new Map() // jobs, each with the way to stop it
let isStopping = false
let alarm = new AbortController()

// 1. Your part -----------------------------------------------------------------------------------
// May run twice for a job. What it returns is the result; what it throws, the error of the attempt.
async function handle(job, signal) {
  if (job.payload.sleep) await sleep(job.payload.sleep * 1000, undefined, { signal })
  if (!job.payload.to) throw new Error('nobody to send it to')
  console.log(`job ${job.id}, attempt ${job.attempt}: to ${job.payload.to}`)
  return { sent: job.payload.to }
}

// 2. One job -------------------------------------------------------------------------------------
async function call(statement, ...values) {
  const { rows } = await pool.query(statement, values)
  return rows
}

async function run(job) {
  const stop = new AbortController()
  running.set(job, stop)
  try {
    await finish(job, stop.signal)
  } catch (error) {
    if (!LOST.includes(error.code)) throw error // the program ends
    console.error(`the outcome of job ${job.id} is dropped: ${error.message}`)
  } finally {
    running.delete(job)
    wake()
  }
}

async function finish(job, signal) {
  try {
    const result = JSON.stringify(await handle(job, signal))
    await call('select pgbaton.complete_job($1, $2, $3)', job.id, result, job.lease_token)
  } catch (error) {
    if (LOST.includes(error.code)) throw error
    if (signal.aborted) {
      await call('select pgbaton.acknowledge_cancellation($1, true, $2)', job.id, job.lease_token)
    } else {
      const said = String(error).replaceAll('\0', '') // which no text of PostgreSQL may hold
      await call('select pgbaton.fail_job($1, $2, $3)', job.id, said, job.lease_token)
    }
  }
}

async function extendLeases() {
  for (const [job, stop] of running) {
    const [{ verdict }] = await call(
      'select verdict from pgbaton.extend_leases(array[$1::bigint], $2, make_interval(secs => $3))',
      job.id, job.lease_token, LEASE,
    )
    if (verdict !== 'ok') stop.abort() // cancelled, or lost
  }
}

// 3. All jobs ------------------------------------------------------------------------------------
function wake() {
  alarm.abort()
}

async function nap(seconds) {
  await sleep(seconds * 1000, undefined, { signal: alarm.signal }).catch(() => {})
}

async function lieDown() {
  const [found] = await call(
    'select channel, extract(epoch from wait)::float8 as seconds from pgbaton.wait_for_jobs($1, $2)',
    workerId, [queue],
  )
  return found
}

async function claim(free) {
  return await call(
    `select id, lease_token, attempt, payload from pgbaton.claim_job_batch(
      $1, $2, batch_size => $3, lease => make_interval(secs => $4))`,
    workerId, [queue], free, LEASE,
  )
}

async function work() {
  const { channel } = await lieDown()
  await listener.connect()
  listener.on('notification', wake)
  await listener.query(`listen ${pg.escapeIdentifier(channel)}`)
  while (!isStopping) {
    alarm = new AbortController()
    const free = CAPACITY - running.size
    const jobs = free > 0 ? await claim(free) : []
    for (const job of jobs) run(job)
    const isFull = jobs.length === free
    await nap(isFull ? LEASE : (await lieDown()).seconds)
  }
  while (running.size > 0) {
    alarm = new AbortController()
    await nap(LEASE)
  }
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    isStopping = true
    wake()
  })
}
const extending = setInterval(extendLeases, (LEASE * 1000) / 3)
await work()
clearInterval(extending)
await call('select pgbaton.unregister_worker($1)', workerId)
await listener.end()
await pool.end()
