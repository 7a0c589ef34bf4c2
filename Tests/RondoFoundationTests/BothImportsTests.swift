import Foundation
import RondoFoundation
import Testing

import class RondoFoundation.NotificationQueue
import class RondoFoundation.RunLoop
import class RondoFoundation.Timer

/// A file that imports Foundation as well says whose it means.
@Suite struct BothImportsTests {
  @Test func `with both imports, the classes named one by one are Rondo's`() {
    withFoundationStage { stage in
      let timer = Timer.scheduledTimer(withTimeInterval: 1, repeats: false) { _ in stage.noteTime("timer") }
      RunLoop.current.run()
      #expect(stage.text == "timer@1000" && !timer.isValid)
      #expect(RunLoop.current.getLoop() === stage.loop)
      #expect(NotificationQueue.self != Foundation.NotificationQueue.self)
    }
  }
}
