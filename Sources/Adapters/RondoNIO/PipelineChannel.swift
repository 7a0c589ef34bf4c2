#if NIO
  package import NIOCore
  package import Rondo
  package import RondoSockets
  internal import Synchronization

  /// A channel of SwiftNIO's without a socket: its owner gives it what was received, and takes what is to be sent.
  ///
  /// Fields are of the thread inside of its event loop.
  package final class PipelineChannel: @unchecked Sendable {
    /// What is to be sent, with those who wait for it.
    package struct Output {
      package var bytes: [UInt8] = []
      fileprivate var promises: [EventLoopPromise<Void>] = []
      fileprivate var answers = 0
    }

    /// *constant*
    let home: PipelineLoop
    /// *constant* after `init`
    private var handlers: ChannelPipeline!
    /// *constant* Whose addresses it has.
    private let connection: Connection?
    /// *constant* The peer that handlers are told of in the connection's place.
    private let peer: NIOCore.SocketAddress?
    /// *constant*
    private let closePromise: EventLoopPromise<Void>
    /// *constant* So many bytes may wait to be sent before handlers are asked to write no more.
    private let bufferLimit: Int
    /// *constant* after `init` Called when there is output that no call of the owner's will send.
    var onOutput: (() -> Void)?
    /// Whether it was called, and output was not taken since.
    private var isAnnounced = false
    /// Bytes that handlers have written. The first `flushed` may be sent, if handlers have flushed.
    private var written: [UInt8] = []
    private var flushed = 0
    private var hasFlushed = false
    /// How many bytes handlers have written in answer to what was received, and how many of them were taken.
    private var (answers, takenAnswers) = (0, 0)
    /// How many tasks send output, or wait for their turn.
    var senders = 0
    /// Those who wait for bytes to be sent, by the number of bytes before their end.
    private var promises: [(end: Int, promise: EventLoopPromise<Void>)] = []
    /// Whether the owner is in a call, and will look for output after it.
    private var isAttended = false
    /// Whether handlers have ended the sending, or the channel.
    private var hasFinished = false
    package private(set) var hasClosed = false
    /// What of it the owner does to the connection after the output.
    private var end: CloseMode?
    /// *atomic* Asked for from any thread.
    private let active = Atomic(false)
    private let writable = Atomic(true)

    package init(
      on loop: Loop, in mode: Loop.Mode = .common, bufferLimit: Int, for connection: Connection? = nil,
      peer: NIOCore.SocketAddress? = nil
    ) {
      home = PipelineLoop(on: loop, in: mode)
      closePromise = home.makePromise()
      self.bufferLimit = bufferLimit
      self.connection = connection
      self.peer = peer
      handlers = ChannelPipeline(channel: self)
    }

    /// Runs a call of the owner's inside of the event loop. The owner then looks for output.
    package func attend<Answer, Failure: Error>(_ body: () throws(Failure) -> Answer) throws(Failure) -> Answer {
      try home.inside { () throws(Failure) in
        let wasAttended = isAttended
        isAttended = true
        defer { isAttended = wasAttended }
        return try body()
      }
    }

    // MARK: - What the owner does, inside

    /// Tells handlers that the connection is there.
    package func begin() {
      if hasClosed { return }
      active.store(true, ordering: .relaxed)
      handlers.fireChannelRegistered()
      handlers.fireChannelActive()
    }

    /// Gives handlers what was received.
    package func receive(_ bytes: ByteBuffer) {
      if hasClosed { return }
      let before = written.count
      defer { answers += max(0, written.count - before) }
      handlers.syncOperations.fireChannelRead(NIOAny(bytes))
      if !hasClosed { handlers.syncOperations.fireChannelReadComplete() }
    }

    /// The same, from outside. Not generic: `attend` of another module looks up types in each call.
    package func attendReceiving(_ bytes: ByteBuffer) { attend { receive(bytes) } }

    /// Tells handlers that the peer sends no more.
    package func receiveEnd() {
      if !hasClosed { handlers.syncOperations.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
    }

    /// Tells handlers that the connection has failed, and closes. Nothing more can be sent.
    package func fail(_ error: any Error) {
      if !hasClosed { handlers.syncOperations.fireErrorCaught(error) }
      lose(error)
    }

    /// Closes, and leaves the connection as it is.
    package func detach() {
      onOutput = nil
      lose(ChannelError.eof)
      end = nil
    }

    /// Closes, and fails what was flushed, too.
    private func lose(_ error: any Error) {
      (flushed, hasFlushed) = (0, false)
      if hasClosed { dropUnflushed(error) } else { close0(error: error, mode: .all, promise: nil) }
    }

    /// Whether more may be received: not while answers wait to be sent, as many as the limit.
    var mayReceive: Bool { answers < bufferLimit }

    /// Whether bytes may be sent, or a direction is to be ended.
    package var hasOutput: Bool { hasFlushed || end != nil }

    /// Takes what is to be done to the connection after the output: once. Take it before the output that it ends.
    package func takeEnd() -> CloseMode? {
      defer { end = nil }
      return end
    }

    /// Takes out what may be sent.
    package func takeOutput() -> Output {
      var output = Output()
      if flushed == written.count {
        swap(&output.bytes, &written)
      } else {
        output.bytes = Array(written[..<flushed])
        written.removeFirst(flushed)
      }
      let count = promises.prefix { $0.end <= flushed }.count
      if count > 0 {
        output.promises = promises[..<count].map(\.promise)
        promises.removeFirst(count)
      }
      for index in promises.indices { promises[index].end -= flushed }
      output.answers = answers - takenAnswers
      takenAnswers = answers
      (flushed, hasFlushed, isAnnounced) = (0, false, false)
      setWritable()
      return output
    }

    /// Takes back the end of output that could not be sent. What was written since comes after it.
    func putBack(_ bytes: ArraySlice<UInt8>, of output: Output) {
      written.insert(contentsOf: bytes, at: 0)
      takenAnswers -= output.answers
      (flushed, hasFlushed) = (flushed + bytes.count, true)
      for index in promises.indices { promises[index].end += bytes.count }
      promises.insert(contentsOf: output.promises.map { (bytes.count, $0) }, at: 0)
    }

    /// Takes back what was to be done after the output, unless the channel has closed since.
    func putBack(_ end: CloseMode?) { self.end = self.end ?? end }

    /// Tells those who waited for it what became of output.
    package func complete(_ output: Output, failure: (any Error)? = nil) {
      answers -= output.answers
      takenAnswers -= output.answers
      for promise in output.promises {
        if let failure { promise.fail(failure) } else { promise.succeed() }
      }
    }

    private func setWritable() {
      let isWritable = written.count < bufferLimit
      if writable.exchange(isWritable, ordering: .relaxed) != isWritable, !hasClosed {
        handlers.syncOperations.fireChannelWritabilityChanged()
      }
    }

    /// Has the owner look for output that none of its calls will send.
    func announce() {
      guard let onOutput, !isAnnounced, hasOutput else { return }
      isAnnounced = true
      onOutput()
    }

    private func dropUnflushed(_ error: any Error) {
      written.removeLast(written.count - flushed)
      let unsent = promises.drop { hasFlushed && $0.end <= flushed }
      promises.removeLast(unsent.count)
      for entry in unsent { entry.promise.fail(error) }
    }
  }

  extension PipelineChannel: Channel {
    package var eventLoop: any EventLoop { home }
    package var pipeline: ChannelPipeline { handlers }
    package var allocator: ByteBufferAllocator { ByteBufferAllocator() }
    package var closeFuture: EventLoopFuture<Void> { closePromise.futureResult }
    package var parent: (any Channel)? { nil }
    package var isWritable: Bool { writable.load(ordering: .relaxed) }
    package var isActive: Bool { active.load(ordering: .relaxed) }
    package var _channelCore: any ChannelCore { self }
    package var localAddress: NIOCore.SocketAddress? {
      connection?.socket?.localAddress.flatMap(NIOCore.SocketAddress.init)
    }
    package var remoteAddress: NIOCore.SocketAddress? { peer ?? connection?.peer.flatMap(NIOCore.SocketAddress.init) }
    package var syncOptions: (any NIOSynchronousChannelOptions)? { Options() }

    /// Takes the options that say what this channel always does; the socket's are the program's.
    package func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> EventLoopFuture<Void> {
      home.makeCompletedFuture { try Options().setOption(option, value: value) }
    }

    package func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> {
      home.makeCompletedFuture { try Options().getOption(option) }
    }

    private struct Options: NIOSynchronousChannelOptions {
      func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) throws { _ = try getOption(option) }

      func getOption<Option: ChannelOption>(_ option: Option) throws -> Option.Value {
        switch option {
        case is ChannelOptions.Types.AutoReadOption, is ChannelOptions.Types.AllowRemoteHalfClosureOption:
          true as! Option.Value
        default: throw ChannelError.operationUnsupported
        }
      }
    }
  }

  extension PipelineChannel: ChannelCore {
    package func localAddress0() throws -> NIOCore.SocketAddress { try localAddress.orThrow() }
    package func remoteAddress0() throws -> NIOCore.SocketAddress { try remoteAddress.orThrow() }
    package func register0(promise: EventLoopPromise<Void>?) { promise?.succeed() }
    package func registerAlreadyConfigured0(promise: EventLoopPromise<Void>?) { promise?.succeed() }
    package func bind0(to: NIOCore.SocketAddress, promise: EventLoopPromise<Void>?) { refuse(promise) }
    package func connect0(to: NIOCore.SocketAddress, promise: EventLoopPromise<Void>?) { refuse(promise) }
    package func triggerUserOutboundEvent0(_ event: Any, promise: EventLoopPromise<Void>?) { refuse(promise) }

    private func refuse(_ promise: EventLoopPromise<Void>?) { promise?.fail(ChannelError.operationUnsupported) }

    package func write0(_ data: NIOAny, promise: EventLoopPromise<Void>?) {
      if hasClosed || hasFinished {
        promise?.fail(hasClosed ? ChannelError.ioOnClosedChannel : ChannelError.outputClosed)
        return
      }
      guard let buffer = tryUnwrapData(data, as: ByteBuffer.self) else { return refuse(promise) }
      unsafe buffer.withUnsafeReadableBytes { unsafe written.append(contentsOf: $0) }
      if let promise { promises.append((written.count, promise)) }
      setWritable()
    }

    package func flush0() {
      if flushed == written.count, promises.isEmpty { return }
      (flushed, hasFlushed) = (written.count, true)
      if !isAttended { announce() }
    }

    /// The pipeline's reader is the demand: handlers read ahead of it as far as a buffer, and no further.
    package func read0() {}

    package func close0(error: any Error, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      if hasClosed {
        promise?.fail(ChannelError.alreadyClosed)
        return
      }
      switch mode {
      case .input: break
      case .output where hasFinished:
        promise?.fail(ChannelError.outputClosed)
        return
      case .output:
        (hasFinished, end) = (true, .output)
        dropUnflushed(ChannelError.outputClosed)
      case .all:
        end = .all
        close(error)
      }
      promise?.succeed()
      if !isAttended { announce() }
    }

    /// What was flushed is still sent.
    private func close(_ error: any Error) {
      hasClosed = true
      let wasActive = active.exchange(false, ordering: .relaxed)
      dropUnflushed(error)
      if wasActive {
        handlers.syncOperations.fireChannelInactive()
        handlers.fireChannelUnregistered()
      }
      closePromise.succeed()
      home.execute { [self] in removeHandlers(pipeline: handlers) }
    }

    package func channelRead0(_ data: NIOAny) {}
    package func errorCaught0(error: any Error) {}
  }

  extension NIOCore.SocketAddress {
    fileprivate init?(_ address: RondoSockets.SocketAddress) {
      let made: Self? =
        switch address {
        case .ipv4(let host, let port): try? Self(ipAddress: "\(host)", port: Int(port))
        case .ipv6(let host, let port, scope: _): try? Self(ipAddress: "\(host)", port: Int(port))
        case .unix(let path): try? Self(unixDomainSocketPath: "\(path)")
        }
      guard let made else { return nil }
      self = made
    }
  }

  extension NIOCore.SocketAddress? {
    fileprivate func orThrow() throws -> NIOCore.SocketAddress {
      guard let self else { throw ChannelError.operationUnsupported }
      return self
    }
  }
#endif
